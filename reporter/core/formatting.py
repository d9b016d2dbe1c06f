"""Program texts as they are shown to people."""

from __future__ import annotations

import re

#: The empty line that `ast.unparse` puts between the head of a class and its first method.
_GAP = re.compile(r"^( *class [^\n]*:\n)\n+(?= *(?:def |@))", re.MULTILINE)


def format_program(text: str) -> str:
    """The text as black writes it, with a class's first method right below its head."""
    import black

    return black.format_str(_GAP.sub(r"\1", text), mode=black.Mode())


def count_lines(text: str) -> int:
    """How many lines of the text are not blank."""
    return sum(1 for line in text.splitlines() if line.strip())

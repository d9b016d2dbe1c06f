"""Texts as they are shown to people."""

from __future__ import annotations

import re

from reporter.core.tokens import redact

#: All but tabs and line ends: a terminal takes orders from these, and text that others wrote is
#: shown as text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
#: The empty line that `ast.unparse` puts between the head of a class and its first method.
_GAP = re.compile(r"^( *class [^\n]*:\n)\n+(?= *(?:def |@))", re.MULTILINE)


def format_program(text: str) -> str:
    """The text as black writes it, with a class's first method right below its head."""
    import black

    return black.format_str(_GAP.sub(r"\1", text), mode=black.Mode())


def make_printable(text: str, encoding: str | None) -> str:
    """The text as a stream of this encoding takes it: without tokens, and without what a terminal
    would obey.
    """
    encoding = encoding or "utf-8"
    text = _CONTROL.sub("", redact(text))
    return text.encode(encoding, "backslashreplace").decode(encoding)


def count_lines(text: str) -> int:
    """How many lines of the text are not blank."""
    return sum(1 for line in text.splitlines() if line.strip())

"""What strangers wrote is shown as text and nothing else: no escape sequence, no direction mark, no
invisible character.
"""

from __future__ import annotations

import re
import unicodedata

from reporter.core.tokens import redact

# CSI and OSC sequences as a whole, so that "\x1b[31mred" leaves "red" and not "[31mred"; then any
# other two-character escape.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*["
    r" -/]*[@-~]?|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b."
)
_KEPT = frozenset("\n\t")


def clean_text(text: str) -> str:
    """The text without control and format characters (Unicode Cc, Cf, Cs, Co), but with its lines
    and tabs, and without tokens of ours that a server repeats, or parts of them.
    """
    text = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return redact(
        "".join(
            char
            for char in text
            if char in _KEPT or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
        )
    )


def clean_line(text: str, limit: int = 120) -> str:
    """The same on one line, cut at `limit` characters."""
    line = " ".join(clean_text(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"

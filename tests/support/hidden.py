"""A word in a text, however it is written: in another case, with other separators, cut into lines,
in base64, quoted for an address, in hexadecimal.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from urllib.parse import unquote_plus

_BLOCK = re.compile(rb"[A-Za-z0-9+/_-]{8,}")


def hides(word: str, content: bytes) -> str:
    """How a text has a word of lower-case letters in it; empty if it has not."""
    for how, text in _readings(content):
        if word in re.sub(r"[^a-z0-9]", "", text.lower()):
            return how
    return ""


def _readings(content: bytes) -> Iterator[tuple[str, str]]:
    text = content.decode(errors="replace")
    yield "as it is", text
    yield "quoted", unquote_plus(unquote_plus(text))
    # base64 may have been cut into lines, and the word may begin anywhere in it
    for block in (*_BLOCK.findall(content), *_BLOCK.findall(re.sub(rb"\s+", b"", content))):
        plain = block.replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            part = plain[start:]
            part = part[:-1] if len(part) % 4 == 1 else part
            filled = part + b"=" * (-len(part) % 4)
            yield "base64", base64.b64decode(filled).decode(errors="replace")
    for block in re.findall(r"(?:[0-9a-f]{2}){8,}", re.sub(r"[\s:]|\\x", "", text.lower())):
        for start in range(2):
            part = block[start:]
            yield "hexadecimal", bytes.fromhex(part[: len(part) // 2 * 2]).decode(errors="replace")

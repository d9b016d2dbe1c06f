"""What strangers wrote is shown as text, whatever it says."""

from __future__ import annotations

import pytest

from reporter.tracker.plain_text import clean_line, clean_text

SHOWN = [
    ("a\x1b[31mred\x1b[0m", "ared"),
    ("a\x1b]8;;http://x\x07link\x1b]8;;\x07b", "alinkb"),
    ("\x9b2Jclear", "clear"),
    ("a\x00\x08\x7fb\tc\r\nd\re", "ab\tc\nd\ne"),
    ("admin\u202etxt.exe\u2066", "admintxt.exe"),
    ("zero\u200bwidth\ud800", "zerowidth"),
    ("🐛 über 日本", "🐛 über 日本"),
]


@pytest.mark.parametrize(("text", "expected"), SHOWN)
def test_what_strangers_wrote_cannot_command_a_terminal(text: str, expected: str) -> None:
    assert clean_text(text) == expected


def test_a_line_of_theirs_is_one_line() -> None:
    assert clean_line("a\n\x1b[2Jb   c") == "a b c"
    assert clean_line("x" * 200, 10) == "x" * 9 + "…"

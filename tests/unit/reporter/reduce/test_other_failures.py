"""Other failures that candidates show: news is kept, once and at its smallest; what the repro's own
text raises is none.
"""

from __future__ import annotations

from typing import Any

import pytest

from reporter.core.answer import Answer
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.reduce.other_failures import OtherFailures

WANTED = Signature(Kind.WRONG_RESULT)


def raised(exception: str, *frames: tuple[str, bool]) -> Answer:
    failure: dict[str, Any] = {
        "exception": exception,
        "message": "no",
        "first_line": "no",
        "frames": [{"file": "f.py", "function": n, "line": 1, "torch": t} for n, t in frames],
        "innermost_is_torch": bool(frames) and frames[-1][1],
    }
    return Answer("fails", failure=failure, exit=1)


@pytest.mark.parametrize(
    ("answer", "news"),
    [
        (raised("KeyError", ("main", False), ("run", False), ("compile", True)), True),
        (raised("KeyError", ("run", False), ("compile", True), ("custom_backend", False)), True),
        (raised("AttributeError", ("<module>", False), ("main", False)), False),
        (raised("AttributeError", ("main", False), ("<listcomp>", False)), False),
        (Answer("died", signal="SIGSEGV"), True),
        (Answer("timeout"), False),
        (Answer("passes"), False),
    ],
)
def test_what_a_candidate_raises_is_news_and_what_the_repro_raises_is_not(
    answer: Answer, news: bool
) -> None:
    others = OtherFailures(WANTED)
    others.note("text", answer)
    assert bool(others.list_all()) == news


def test_each_is_kept_once_at_its_smallest() -> None:
    others = OtherFailures(WANTED)
    for text in ("longer text", "text", "a long text"):
        others.note(text, raised("KeyError", ("compile", True)))
    assert [other.text for other in others.list_all()] == ["text"]
    others.listening = False
    others.note("other", Answer("died", signal="SIGSEGV"))
    assert len(others.list_all()) == 1

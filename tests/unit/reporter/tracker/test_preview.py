"""What is shown of a comment before somebody agrees to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from reporter.core.errors import LeakError
from reporter.tracker.preview import agree_to_comments

_PLACE = "https://github.com/pytorch/pytorch/issues/1"


@dataclass
class _Person:
    """Says yes to everything."""

    is_there: bool = True
    shown: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def show(self, line: str) -> None:
        self.shown.append(line)

    def say(self, line: str) -> None:
        self.said.append(line)

    def ask(self, question: str) -> str:
        return ""

    def choose(self, question: str, answers: Mapping[str, str]) -> str:
        return "y"


def test_an_address_of_others_is_pointed_out_before_the_yes() -> None:
    person = _Person()
    assert agree_to_comments([(_PLACE, "it reads\n/tmp/work/data.bin\n")], person, is_sure=False)
    assert "/tmp/work/data.bin" in person.shown
    assert person.said == ["note: line 2 of comment.md has a path; is it meant to be there?"]


def test_nothing_is_shown_where_one_of_the_comments_is_refused() -> None:
    person = _Person()
    with pytest.raises(LeakError):
        agree_to_comments([(_PLACE, "fine"), (_PLACE, "AKIAIOSFODNN7EXAMPLE")], person, False)
    assert person.shown == []

"""An issue hears of a change once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reporter.errors import CannotJudgeError
from reporter.releases.announce import due, tell
from reporter.releases.work import Check
from reporter.store.database import opened


class Tracker:
    """Notes what it is asked to say; `known` are issues that somebody has confirmed lately."""

    def __init__(self, *known: int, fails: bool = False) -> None:
        self.said: list[tuple[str, int, str]] = []
        self._known, self._fails = known, fails

    def confirmed_lately(self, repository: str, number: int) -> bool:
        return number in self._known

    def say(self, repository: str, number: int, text: str) -> None:
        if self._fails:
            raise CannotJudgeError("no connection")
        self.said.append((repository, number, text))


def result(key: str, torch: str, outcome: Any) -> Check:
    return Check(key, key, torch, torch, "3.11", outcome, "E: m", 1.0, (2, 2), git="c0ffee")


def test_each_change_of_state_is_said_once(tmp_path: Path) -> None:
    tracker = Tracker(8)
    with opened(tmp_path / "s") as store:
        for key, number in (("a", 7), ("b", 8)):
            store.execute(
                "INSERT INTO filings VALUES (?, 'o/r', 'confirmed', ?, '', '', '')", (key, number)
            )

        def night(*results: Check) -> None:
            tell(store, tracker, due(store, results))

        night(result("a", "2.13.0", "reproduces"), result("c", "2.13.0", "fixed"))
        assert tracker.said == []  # no news, and an issue that nobody filed
        # the newest release counts, as versions go and not as words do
        night(result("a", "2.9.0", "reproduces"), result("a", "2.14.0", "fixed"))
        assert [said[:2] for said in tracker.said] == [("o/r", 7)]
        text = "This no longer reproduces on torch 2.14.0 (c0ffee): 2 of 2 runs of the repro pass."
        assert tracker.said[0][2] == text
        night(result("a", "2.14.0", "fixed"))
        night(result("a", "2.15.0", "cannot_judge"), result("a", "2.15.1", "different"))
        assert len(tracker.said) == 1
        night(result("a", "2.16.0", "reproduces"))
        assert tracker.said[1][2].startswith("This still reproduces on torch 2.16.0 (c0ffee): E: m")
        # somebody was quicker: that is remembered, and nothing is said
        night(result("b", "2.16.0", "fixed"))
        night(result("b", "2.17.0", "fixed"))
        assert len(tracker.said) == 2


def test_what_was_not_said_is_said_the_next_time(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.execute("INSERT INTO filings VALUES ('a', 'o/r', 'confirmed', 7, '', '', '')")
        news = [result("a", "2.14.0", "fixed")]
        with pytest.raises(CannotJudgeError):
            tell(store, Tracker(fails=True), due(store, news))
        tracker = Tracker()
        assert len(tell(store, tracker, due(store, news))) == 1 and len(tracker.said) == 1

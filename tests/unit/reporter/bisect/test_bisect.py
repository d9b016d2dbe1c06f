"""Which points a search asks about, what it says at its end, and what it refuses; the answers come
from an engine without torch.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.bisect.arguments import BisectArguments
from reporter.bisect.bisect import (
    BisectResult,
    bisect,
)
from reporter.check.engine import Keep
from reporter.check.work import Task
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.environments import index
from reporter.environments.release import resolve_nightly_index
from tests.support.checking import make_interpreter, result

FINALS = tuple(index.Offer(f"2.{n}.0", ((3, 11),), index.PYPI) for n in range(20))
NIGHTLIES = tuple(
    index.Offer(f"2.13.0.dev2026010{n}", ((3, 11),), "https://example.org/nightly")
    for n in range(1, 8)
)
Search = Callable[..., BisectResult]


def broke_at(minor: int) -> Callable[[str], str]:
    return lambda label: "reproduces" if int(label.split(".")[1]) >= minor else "fixed"


class Engine:
    """Answers at once, each build from a commit that is called like its release."""

    def __init__(self, outcome: Callable[[str], str]) -> None:
        self.outcome = outcome
        self.asked: list[str] = []
        self.indexes: dict[str, str | None] = {}

    def run(self, tasks: list[Task], keep: Keep) -> None:
        for task in tasks:
            label = task.release.label
            self.asked.append(label)
            self.indexes[label] = task.release.index
            keep(result(task, self.outcome(label), git=f"git-of-{label}"))


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """A search of a repro among twenty releases, 2.0.0 to 2.19.0."""
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store.sqlite3"))
    monkeypatch.setattr(index, "fetch_offers", lambda place=None: NIGHTLIES if place else FINALS)
    repro = tmp_path / "repro.py"
    repro.write_text("import torch\n")

    def run(outcome: Callable[[str], str] | Engine, jobs: int = 1, **wanted: Any) -> BisectResult:
        engine = outcome if isinstance(outcome, Engine) else Engine(outcome)
        processes = ProcessOptions(jobs=jobs, timeout=wanted.pop("timeout", 60.0))
        asked = BisectArguments(str(repro), **wanted)
        return bisect(asked, processes, TalkOptions(no_input=True), engine)

    return run


def test_the_first_bad_release_is_named_with_the_commits_to_compare(search: Search) -> None:
    engine = Engine(broke_at(13))
    found = search(engine, bad="2.19.0")
    assert found.exit_code == 0 and found.before and found.after
    assert (found.before.release, found.after.release) == ("2.12.0", "2.13.0")
    assert engine.asked[:2] == ["2.0.0", "2.19.0"]  # the ends first; the oldest is good
    assert len(engine.asked) == len(set(engine.asked)) <= 2 + 5
    assert found.compare and found.compare.endswith("/git-of-2.12.0...git-of-2.13.0")
    said = found.summarize()
    assert "last good:  torch 2.12.0 (git-of-2.12.0)" in said
    assert "first bad: torch 2.13.0 (git-of-2.13.0)" in said
    assert said[-1].endswith("--good 2.0.0 --bad 2.19.0")


def test_the_first_release_with_the_fix_is_looked_for_in_the_other_direction(
    search: Search,
) -> None:
    found = search(
        lambda label: "fixed" if int(label.split(".")[1]) >= 7 else "reproduces",
        bad="2.2.0",
        find_fix=True,
    )
    document = found.to_json()
    assert (document["what"], document["found"]) == ("fixed", True)
    assert [document[end]["release"] for end in ("before", "after")] == ["2.6.0", "2.7.0"]
    assert any(line.startswith("first fixed: torch 2.7.0") for line in found.summarize())
    assert "--good 2.19.0 --bad 2.2.0 --find-fix" in document["command"]


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (broke_at(0), "it fails on torch 2.0.0 and on torch 2.19.0, so nothing changed"),
        (broke_at(99), "it is right on torch 2.0.0 and on torch 2.19.0, so nothing changed"),
        (
            lambda label: "fixed" if label == "2.19.0" else "reproduces",
            "it is right on the later and fails on the earlier of torch 2.0.0 and torch 2.19.0;"
            " add --find-fix",
        ),
    ],
)
def test_ends_without_a_change_between_them_are_told_and_nothing_is_searched(
    outcome: Callable[[str], str], says: str, search: Search
) -> None:
    engine = Engine(outcome)
    found = search(engine, bad="2.19.0")
    assert found.exit_code == 1 and found.reason.startswith(says)
    assert found.compare is None and found.to_json()["before"] is None
    assert engine.asked == ["2.0.0", "2.19.0"] and found.reason in found.summarize()


def test_an_end_that_cannot_be_judged_is_refused(search: Search) -> None:
    with pytest.raises(CannotJudgeError, match="2.19.0 cannot be an end .* choose another one"):
        search(lambda label: "cannot_judge" if label == "2.19.0" else "fixed", bad="2.19.0")


def test_a_search_whose_end_could_not_be_judged_is_begun_anew(search: Search) -> None:
    with pytest.raises(CannotJudgeError):
        search(lambda label: "cannot_judge" if label == "2.19.0" else "fixed", bad="2.19.0")
    engine = Engine(broke_at(13))
    found = search(engine, bad="2.19.0")  # the network is back
    assert found.after and found.after.release == "2.13.0"
    assert engine.asked[:2] == ["2.0.0", "2.19.0"]


@pytest.mark.parametrize(
    "other", [{"backend": "cu126"}, {"index": "https://example.org/simple"}, {"timeout": 7.0}]
)
def test_a_search_that_was_cut_off_is_gone_on_with_in_the_same_builds_alone(
    other: dict[str, Any], search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "fetch_offers", lambda place=None: FINALS)

    def cut_off(label: str) -> str:
        if label not in ("2.0.0", "2.19.0"):
            raise KeyboardInterrupt
        return broke_at(13)(label)

    for wanted, begins_with_ends in ((other, True), ({}, False)):
        with pytest.raises(KeyboardInterrupt):
            search(cut_off, bad="2.19.0")
        engine = Engine(broke_at(13))
        search(engine, bad="2.19.0", **wanted)
        assert (engine.asked[0] == "2.0.0") == begins_with_ends


def test_the_login_of_an_index_is_in_nothing_that_is_said(search: Search) -> None:
    place = "https://me:secret@example.org/simple"
    found = search(broke_at(5), good="2.4.0", bad="2.5.0", index=place, nightly=True)
    said = "\n".join([*found.summarize(), str(found.to_json())])
    assert "--index https://example.org/simple" in found.command
    assert "the index https://example.org/simple lists no nightly" in said
    assert "secret" not in said


def test_releases_that_cannot_be_judged_are_named_between_the_neighbors(search: Search) -> None:
    unknown = ("2.9.0", "2.10.0")
    found = search(
        lambda label: "cannot_judge" if label in unknown else broke_at(10)(label), bad="2.19.0"
    )
    assert found.before and found.after
    assert (found.before.release, found.after.release) == ("2.8.0", "2.11.0")
    assert found.to_json()["between"] == list(unknown)
    assert any("could not be judged: 2.9.0, 2.10.0" in line for line in found.summarize())


def test_a_failure_that_came_and_went_is_told_as_the_last_change(search: Search) -> None:
    """Two releases are asked side by side, and the earlier one fails while the later is right."""
    bad = {"2.8.0", "2.9.0", "2.10.0", "2.17.0", "2.18.0", "2.19.0"}
    engine = Engine(lambda label: "reproduces" if label in bad else "fixed")
    found = search(engine, jobs=3, bad="2.19.0")
    assert found.after and found.after.release == "2.17.0"
    assert [remark.partition(" (")[0] for remark in found.remarks] == ["it changed more than once"]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({}, "does not say where it fails; give --bad V"),
        ({"good": "2.9.0", "bad": "2.3.0"}, "--good 2.9.0 is not earlier than --bad 2.3.0"),
        (
            {"good": "2.3.0", "bad": "2.9.0", "find_fix": True},
            "is not later than --bad 2.9.0; leave out --find-fix",
        ),
        ({"bad": "two"}, "'two' is no torch release"),
        ({"bad": "2.9.0", "index": "only nightlies"}, "to begin the search at; give --good V"),
        ({"python": ("a", "b"), "nightly": True}, "leave one of them out"),
        ({"python": ("a", "b"), "good": "two"}, "'two' is no torch release"),
    ],
)
def test_ends_that_make_no_search_are_refused_before_anything_is_asked(
    wanted: dict[str, object], says: str, search: Search
) -> None:
    engine = Engine(broke_at(5))
    with pytest.raises(UsageError) as caught:
        search(engine, **wanted)
    assert says in str(caught.value) and engine.asked == []


def test_between_two_releases_the_nightlies_are_searched_and_the_ends_not_asked_again(
    search: Search,
) -> None:
    def outcome(label: str) -> str:
        is_bad = label >= "2.13.0.dev20260104" if "dev" in label else broke_at(13)(label) != "fixed"
        return "reproduces" if is_bad else "fixed"

    engine = Engine(outcome)
    found = search(engine, bad="2.19.0", nightly=True)
    assert found.before and found.after
    assert (found.before.release, found.after.release) == (
        "2.13.0.dev20260103",
        "2.13.0.dev20260104",
    )
    assert len(engine.asked) == len(set(engine.asked))
    assert len(found.points) == len(engine.asked) and "--nightly" in found.command


@pytest.mark.parametrize(
    ("good", "between"),
    [
        ("2.10.0", ["2.11.0", "2.12.0"]),
        ("2.13.0.dev20260104", ["2.13.0.dev20260105", "2.13.0.dev20260106"]),
    ],
)
def test_a_nightly_end_needs_no_index(good: str, between: list[str], search: Search) -> None:
    """Between a release and a nightly lie releases, between two nightlies nightlies."""
    engine = Engine(lambda label: "reproduces" if label == NIGHTLIES[-1].version else "fixed")
    found = search(engine, good=good, bad="nightly")
    assert found.after and found.after.release == NIGHTLIES[-1].version
    ends = [good, NIGHTLIES[-1].version]
    assert engine.asked[:2] == ends and set(engine.asked[2:]) <= set(between)
    for label, index_of in engine.indexes.items():
        assert (index_of is not None) == ("dev" in label)
    assert engine.indexes[NIGHTLIES[-1].version] == resolve_nightly_index(None)


def test_where_no_nightly_is_listed_the_releases_are_the_answer(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(broke_at(5), bad="2.19.0", nightly=True)
    assert found.after and found.after.release == "2.5.0"
    assert "lists no nightly between torch 2.4.0 and torch 2.5.0" in found.remarks[0]

    def offers(place: str | None = None) -> tuple[index.Offer, ...]:
        if place:
            raise CannotJudgeError("the index cannot be read")
        return FINALS

    monkeypatch.setattr(index, "fetch_offers", offers)
    found = search(broke_at(6), bad="2.19.0", nightly=True)
    assert found.remarks == ("no search among nightlies: the index cannot be read",)


@pytest.mark.parametrize(
    ("ends", "asked"),
    [
        ({}, ["2.6.0", "2.9.0"]),
        ({"bad": "2.8.0"}, ["2.6.0", "2.8.0", "2.7.0"]),
        ({"good": "2.7.0"}, ["2.7.0", "2.9.0"]),
        ({"good": "2.6.0", "bad": "2.7.0"}, ["2.6.0", "2.7.0"]),
        ({"bad": "2.7.0", "find_fix": True}, ["2.7.0", "2.9.0", "2.8.0"]),
    ],
)
def test_interpreters_are_searched_in_the_order_of_their_torch_between_the_ends_that_are_given(
    ends: dict[str, object], asked: list[str], search: Search, tmp_path: Path
) -> None:
    pythons = []
    for version in ("2.8.0", "2.6.0", "2.7.0", "2.9.0"):
        python = tmp_path / f"python-{version}"
        make_interpreter(python, version)
        pythons.append(str(python))
    engine = Engine(lambda label: "reproduces" if label.endswith(("2.7.0", "2.8.0")) else "fixed")
    found = search(engine, python=tuple(pythons), **ends)
    assert [label[-5:] for label in engine.asked] == asked
    given = shlex.split(found.command)
    assert given.count("--python") == 4
    assert ("--good" in given, "--bad" in given) == ("good" in ends, "bad" in ends)

"""What a check says in the end: its exit code, and what has changed since the last time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reporter.check.check import carry_out
from reporter.check.engine import Keep
from reporter.check.plan import Plan
from reporter.check.results import CheckSummary
from reporter.check.work import Task
from reporter.core.errors import UsageError
from reporter.core.progress import PlainProgress
from reporter.environments.release import Release, build_interpreter_release, parse
from reporter.environments.selection import Selection, select_releases
from reporter.store.database import open_store
from tests.support.checking import Noting, checked, lines, make_interpreter, plan, result, rows
from tests.support.wheels import make_wheels

CODES = [
    (["fixed", "fixed"], 0),
    (["fixed", "cannot_judge"], 0),
    (["fixed", "reproduces"], 1),
    (["fixed", "different"], 1),
    (["cannot_judge"], 125),
]


@pytest.mark.parametrize(("outcomes", "code"), CODES)
def test_the_exit_code_tells_whether_a_repro_fails_anywhere(outcomes: list[str], code: int) -> None:
    results = tuple(checked("a", str(n), outcome) for n, outcome in enumerate(outcomes))
    assert CheckSummary(results).exit_code == code


def test_what_changed_since_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    seen: list[list[str | None]] = []

    class Engine:
        def __init__(self, *outcomes: str) -> None:
            self._outcomes = outcomes

        def run(self, tasks: list[Task], keep: Keep) -> None:
            seen.append([task.expected for task in tasks])
            for task, outcome in zip(tasks, self._outcomes):
                keep(result(task, outcome))

    changed = []
    with open_store() as store:
        for outcomes in (
            ("reproduces", "fixed"),
            ("cannot_judge", "fixed"),
            ("fixed", "fixed"),
            ("fixed", "reproduces"),
        ):
            found = carry_out(plan(2), Engine(*outcomes), store, PlainProgress())
            changed.append([(c.before, c.check.outcome) for c in found.changes])
    assert changed == [[], [], [("reproduces", "fixed")], [("fixed", "reproduces")]]
    # what cannot be judged is no news: the last judgment stays the expectation
    assert seen == [[None, None], ["reproduces", "fixed"], ["reproduces", "fixed"], ["fixed"] * 2]


def test_what_cannot_have_changed_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    here = Release("/usr/bin/python", python="/usr/bin/python")
    final, nightly = (parse(version) for version in ("2.6.0", "2.16.0.dev20261101"))
    cpu = parse("2.6.0", backend="cpu")
    subjects = plan(4).subjects
    asked = []
    with open_store() as store:
        for releases, skip in (
            ((final, nightly, here), False),
            ((final, nightly, here), True),  # what is no release may be another one by now
            ((final, nightly, here), False),
            ((cpu,), True),  # another build than the one that was judged
        ):
            log = tmp_path / f"log{len(asked)}"
            found = carry_out(
                Plan(subjects, releases, skip=skip), Noting(log), store, PlainProgress()
            )
            assert len(found.results) == len(releases) * 2 and not found.changes
            assert {check.outcome for check in found.results} == {"fixed"}
            asked.append(sorted({line.split()[1] for line in lines(log)}))
    three = ["/usr/bin/python", "2.16.0.dev20261101", "2.6.0"]
    assert asked == [three, three[:2], three, ["2.6.0"]]


def test_a_wheel_is_not_believed_to_be_the_release_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    wheels = [make_wheels(tmp_path / name, "2.6.0")["2.6.0"] for name in ("old", "new")]
    patched = select_releases(Selection(torch=tuple(map(str, wheels))))
    log = tmp_path / "log"
    with open_store() as store:
        found = carry_out(Plan(plan(2).subjects, patched), Noting(log), store, PlainProgress())
        assert [check.release for check in found.results] == [str(wheel) for wheel in wheels]
        final = Plan(plan(2).subjects, (parse("2.6.0"),), skip=True)
        carry_out(final, Noting(log), store, PlainProgress())
    assert [line.split()[1] for line in lines(log)] == [*map(str, wheels), "2.6.0"]


@pytest.mark.parametrize(("torch", "asked"), [("2.6.0", 3), ("2.7.0", 4)])
def test_results_of_an_interpreter_are_taken_over_only_where_it_has_the_same_torch(
    torch: str, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    python, log = tmp_path / "python", tmp_path / "log"
    release = build_interpreter_release(python)

    def interrupt_second(task: Task) -> str:
        if task.subject.key == "k1":
            raise KeyboardInterrupt
        return "fixed"

    with open_store() as store:
        make_interpreter(python, "2.6.0")
        two = replace(plan(4), releases=(release,))
        with pytest.raises(KeyboardInterrupt):
            carry_out(two, Noting(log, interrupt_second), store, PlainProgress())
        make_interpreter(python, torch)
        carry_out(two, Noting(log), store, PlainProgress())
    assert len(lines(log)) == asked


def test_a_full_disk_is_said_and_costs_nothing_that_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "store", tmp_path / "log"
    monkeypatch.setenv("BUGREPORT_STORE", str(path))
    with pytest.raises(UsageError, match=r"full.*make room"), open_store(path) as store:
        pages = store.execute("PRAGMA page_count").fetchone()[0]
        store.execute(
            f"PRAGMA max_page_count = {pages + 3}"
        )  # what SQLite says is that of a full disk
        carry_out(plan(400), Noting(log), store, PlainProgress())
    kept = rows(path)
    assert 0 < kept < 400
    with open_store(path) as store:
        found = carry_out(plan(400), Noting(log), store, PlainProgress())
    assert len(found.results) == 400 and rows(path) == 400
    assert len(lines(log)) <= 401

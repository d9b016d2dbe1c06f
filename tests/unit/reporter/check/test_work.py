"""One check, as a function of plain data."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from reporter.check import runs
from reporter.check.pools import Pools
from reporter.check.subject import CheckSubject, IssueOrigin
from reporter.check.work import Task, TaskRunner
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.environments.environments import Environment, Environments
from reporter.environments.release import Release, parse
from reporter.report.sections.base import build_section
from reporter.report.sections.verdict import FailureSection
from reporter.store.database import open_store
from reporter.store.reports import compute_key
from reporter.triage.reading.stated_failure import StatedFailure, StatedSymptom
from tests.support.checking import checked

HANGS = StatedSymptom.HANGS
TWINS = [
    ("2.16.0.dev20261102+cpu", "3.11.9", "c0ffee", True),
    ("2.16.0.dev20261102+cu126", "3.11.9", "c0ffee", False),
    ("2.16.0.dev20261102+cpu", "3.12.1", "c0ffee", False),
    ("2.16.0.dev20261102+cpu", "3.11.9", "another", False),
    ("2.16.0.dev20261102+cpu", "3.11.9", None, False),
]


@pytest.mark.parametrize(("build", "python", "git", "is_twin"), TWINS)
def test_a_build_from_a_commit_that_was_judged_is_not_judged_again(
    build: str, python: str, git: str | None, is_twin: bool, tmp_path: Path
) -> None:
    shown = Signature(Kind.CRASH, exception="E", message="m")
    seen = checked(
        "r", "2.16.0.dev20261101", "reproduces", key="k", python="3.11.7", detail="E: m",
        build="2.16.0.dev20261101+cpu", git="c0ffee",
        signature=build_section(FailureSection, shown),
    )  # fmt: skip
    release = parse("2.16.0.dev20261102")
    place = Environment(release.label, tmp_path / "gone", build, python, git)
    homes = Environments(tmp_path, known={release: place})
    task = Task(CheckSubject("r", "k", "pass"), release, fresh=True, alike=(seen,))
    assert msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(task))), Task) == task
    with TaskRunner(homes, Pools()) as bench:
        found = bench.perform(task)
    if is_twin:
        assert (found.outcome, found.failure, found.seconds) == ("reproduces", shown, 0.0)
        assert found.build == build and "2.16.0.dev20261101+cpu" in found.detail
    else:
        assert (
            found.outcome == "cannot_judge"
        )  # it would have run, and there is nothing to run it with


def test_nothing_takes_the_place_of_what_an_environment_of_the_tool_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_RELEASES", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "/own/torch")
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    own = Pools().build_variables(tmp_path / "2.6.0-cpu" / "bin" / "python")
    theirs = Pools().build_variables(Path("/usr/bin/python3"))
    assert "PYTHONPATH" not in own and theirs["PYTHONPATH"] == "/own/torch"
    assert "TORCHDYNAMO_DISABLE" not in {**own, **theirs}


@pytest.mark.parametrize("error", [UsageError, CannotJudgeError, OSError])
def test_whatever_goes_wrong_is_a_result(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise error("it is in vain")

    monkeypatch.setattr("reporter.check.work.judge_issue", refuse)
    release = parse("2.6.0")
    place = Environment(release.label, tmp_path / "python", "2.6.0", "3.11.7", None)
    subject = CheckSubject("r", "k", "pass", origin=IssueOrigin("", StatedFailure(HANGS)))
    with TaskRunner(Environments(tmp_path, known={release: place}), Pools()) as bench:
        found = bench.perform(Task(subject, release))
    assert (found.outcome, found.detail) == ("cannot_judge", "it is in vain")


def test_a_result_can_be_stored_whatever_a_file_is_called(tmp_path: Path) -> None:
    name = "caf\udce9.py"  # as Python has a name that is not UTF-8
    subject = CheckSubject(name, compute_key(name), "", problem=f"{name} cannot be read")
    with TaskRunner(Environments(tmp_path), Pools()) as bench:
        found = bench.perform(Task(subject, parse("2.6.0")))
    path = tmp_path / "store"
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as run:
        assert runs.keep(store, run.id, found)
        assert runs.list_results(store, run.id) == [found]
    assert (found.repro, found.detail) == ("caf\\udce9.py", "caf\\udce9.py cannot be read")


class Mending(Environments):
    """Environments that are in vain looked at closely, each time counted."""

    mended = 0

    def provide(self, release: Release, again: bool = False) -> Environment:
        self.mended += again
        return self.known[release]


@pytest.mark.parametrize("is_damaged", [True, False])
def test_only_an_environment_in_which_nothing_runs_is_repaired(
    is_damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)  # no sandbox: an answer for any torch
    python = tmp_path / "gone" if is_damaged else Path(sys.executable)
    subject = (
        CheckSubject("r", "k", "pass")
        if is_damaged
        else CheckSubject("r", "k", "pass", origin=IssueOrigin("", StatedFailure(HANGS)))
    )
    release = parse("2.6.0")
    place = Environment(release.label, python, "2.6.0", "3.11.7", None)
    homes = Mending(tmp_path, known={release: place})
    with TaskRunner(homes, Pools()) as bench:
        found = bench.perform(Task(subject, release, fresh=True))
    assert (found.outcome, homes.mended) == ("cannot_judge", int(is_damaged))
    assert ("is gone" if is_damaged else "bubblewrap is missing") in found.detail

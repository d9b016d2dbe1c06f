"""Many issues in one run, against a tracker of this machine."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reporter.core.errors import CannotJudgeError, Interruption
from reporter.execution.interpreter import InterpreterInfo
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.repository import Repository
from reporter.triage import batch
from reporter.triage.attempt import RunLimits
from reporter.triage.batch import TriagedSearch
from reporter.triage.reading.thread import Thread
from reporter.triage.result import Triage
from reporter.triage.triage import TriageRequest
from tests.support.github.submitter import RecordedPrompt
from tests.support.github.tracker import Fault, Tracker

NO_CODE = "It fails since the update."
HERE = InterpreterInfo(Path(sys.executable), "3.11.7", "2.13.0", None, False, sys.prefix)
WANTED = TriageRequest(RunLimits(60, 4, 1, trust=True), (HERE,), quick=True)
USES_A_PACKAGE = (
    "```python\nimport torch, no_such_package\ntorch.compile(torch.sin)(torch.ones(2))\n```\n"
)


def searched(wanted: TriageRequest = WANTED) -> TriagedSearch:
    with TrackerSession("github.com", token_needed=False) as session:
        repository = Repository("github.com", "pytorch", "pytorch")
        return batch.search(session, repository, "compile", 10, wanted, RecordedPrompt())


def is_read_again(tracker: Tracker, wanted: TriageRequest = WANTED) -> bool:
    before = tracker.count("issues/get")
    searched(wanted)
    return tracker.count("issues/get") > before


def test_what_was_judged_is_not_judged_again_under_the_same_conditions(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.add_issue("compile: a", NO_CODE)
    searched()
    assert not is_read_again(tracker)
    assert is_read_again(tracker, replace(WANTED, limits=replace(WANTED.limits, timeout=90)))
    assert is_read_again(tracker, replace(WANTED, limits=replace(WANTED.limits, memory=8)))
    assert is_read_again(tracker, replace(WANTED, runs=5))
    assert not is_read_again(tracker)
    monkeypatch.setattr(batch, "VERSION", "99.0")
    assert is_read_again(tracker)


def test_what_the_machine_lacked_is_asked_for_again(tracker: Tracker) -> None:
    tracker.add_issue("compile: a", USES_A_PACKAGE)
    (document,) = searched().documents
    assert document["refusal"]["kind"] == "needs_packages"
    assert is_read_again(tracker)


def test_what_could_not_be_judged_is_tried_again(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.add_issue("compile: a", NO_CODE)

    def cannot_judge(thread: Thread, *given: object) -> Triage:
        return replace(real(thread, *given), status="cannot_judge", refusal=None)  # type: ignore[arg-type]

    real = batch.triage
    monkeypatch.setattr(batch, "triage", cannot_judge)
    assert searched().exit_code == 125
    assert is_read_again(tracker)


def test_a_failure_of_one_issue_does_not_end_the_others(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        tracker.add_issue(f"compile: {name}", NO_CODE)
    tracker.faults = [Fault("issues/get", status=401, message="Bad credentials", skip=1)]
    wrong: dict[str, BaseException] = {
        "compile: c": ValueError("a defect"),
        "compile: d": CannotJudgeError("there is no sandbox"),
    }

    def fails(thread: Thread, *given: Any) -> Triage:
        if thread.title in wrong:
            raise wrong[thread.title]
        return real(thread, *given)

    real = batch.triage
    monkeypatch.setattr(batch, "triage", fails)
    found = searched()
    first, *rest = found.documents
    assert first["status"] == "not_actionable" and found.exit_code == 125
    for document, says in zip(rest, ("github.com", "internal error (ValueError)", "no sandbox")):
        assert set(document) == {*first, "error"}
        assert document["status"] == "cannot_judge" and says in document["error"]
        assert document["sentence"].endswith(".") and document["schema_version"] == 1
        assert document["issue"]["title"] and document["issue"]["state"] == "open"
    assert "a defect" not in str(rest) and any("no sandbox" in line for line in found.summarize())
    wrong["compile: d"] = Interruption("interrupted")
    with pytest.raises(Interruption):
        searched()

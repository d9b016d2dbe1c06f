"""An issue as the subject of a check."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from reporter.check.issue_subject import build_thread_subject, is_issue, judge_issue
from reporter.check.work import Task
from reporter.core.errors import CannotJudgeError
from reporter.environments.release import Release
from reporter.triage.attempt import RunLimits
from reporter.triage.reading.thread import read_file
from tests.support.github.submitter import RecordedPrompt
from tests.support.places import DATA

ISSUES = DATA / "issues"


def test_what_is_an_issue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pytorch/pytorch#1", "https://github.com/a/b/issues/3", "x.org/a/b#1"):
        assert is_issue(name)
    (tmp_path / "issue.md").write_text("text")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b#1").write_text("a file of this name goes before the issue")
    assert is_issue("issue.md") and not any(map(is_issue, ("repro.py", "a/b#1", "gone.md", "a")))


def test_it_travels_as_plain_data() -> None:
    subject = build_thread_subject(read_file(ISSUES / "triu_min.md"))
    task = Task(subject, Release("2.6.0"))
    assert msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(task))), Task) == task
    assert subject.origin is not None and subject.origin.stated.raised


def test_code_that_is_to_be_trusted_is_shown_before_it_runs(tmp_path: Path) -> None:
    user = RecordedPrompt(["n"])
    thread = read_file(ISSUES / "triu_min.md")
    with pytest.raises(CannotJudgeError, match="was not run"):
        build_thread_subject(thread, trust=True, user=user)
    assert "import torch" in user.said
    subject = build_thread_subject(thread, trust=True, user=RecordedPrompt(["y"]))
    assert subject.origin is not None and subject.origin.trust


def test_without_a_sandbox_it_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    subject = build_thread_subject(read_file(ISSUES / "triu_min.md"))
    with pytest.raises(CannotJudgeError, match="bubblewrap is missing"):
        judge_issue(subject, Path(sys.executable), RunLimits(60, 4, 1))

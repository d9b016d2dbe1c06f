"""Triage against a tracker that holds us to GitHub's published description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reporter.cli.main import run
from reporter.core.errors import LeakError, UsageError
from reporter.core.settings import Options
from reporter.tracker.http_session import TrackerSession
from reporter.triage import posting, service
from reporter.triage.arguments import TriageArguments
from reporter.triage.reading.thread import Thread
from reporter.triage.result import Triage
from reporter.triage.service import serve
from tests.support.github.submitter import RecordedPrompt
from tests.support.github.tracker import TOKEN, Fault, Tracker

NO_CODE = "### 🐛 Describe the bug\n\nIt fails since the update."
HALF = "It fails.\n\n```python\nimport torch\nnet = build()\ntorch.compile(net)(batch)\n```\n"


def one(issue: str, user: RecordedPrompt, **more: Any) -> Triage:
    options = Options(no_input=True)
    result = serve(TriageArguments(issue, **more), None, options, options, options, user)
    assert isinstance(result, Triage)
    return result


@pytest.mark.parametrize(
    "name", ["pytorch/pytorch#1", "https://github.com/pytorch/pytorch/issues/1"]
)
def test_an_issue_is_fetched_with_its_comments(tracker: Tracker, name: str) -> None:
    comments = [{"id": 1, "author": "kim", "body": HALF, "created_at": None}]
    tracker.add_issue("A crash", NO_CODE)
    issue = tracker.repo.issues[0]
    issue["comments"] = []
    del comments
    result = one(name, RecordedPrompt())
    assert (result.status, result.refusal and result.refusal.kind) == ("not_actionable", "no_code")
    assert result.thread.title == "A crash" and result.labels == ("needs reproduction",)
    assert tracker.count("issues/create-comment") == 0


def test_a_comment_is_posted_after_a_yes_and_once(tracker: Tracker) -> None:
    tracker.add_issue("A crash", HALF)
    first = RecordedPrompt(["y"])
    result = one("pytorch/pytorch#1", first, comment=True)
    assert result.posted and result.posted.startswith("http")
    assert "nothing defines `build`" in "\n".join(first.shown)
    again = one("pytorch/pytorch#1", RecordedPrompt(["y"]), comment=True)
    assert again.posted == result.posted
    comments = tracker.repo.issues[0]["comments"]
    assert len(comments) == 1 and "written by the tool bugreport" in comments[0]["body"]
    assert TOKEN not in json.dumps(result.to_json())


def test_nothing_is_posted_without_a_yes(tracker: Tracker) -> None:
    tracker.add_issue("A crash", HALF)
    assert one("pytorch/pytorch#1", RecordedPrompt(["n"]), comment=True).posted is None
    with pytest.raises(UsageError, match="nobody can answer"):
        one("pytorch/pytorch#1", RecordedPrompt(is_there=False), comment=True)
    assert tracker.count("issues/create-comment") == 0


def test_who_cannot_answer_is_told_before_anything_is_judged(
    tracker: Tracker, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker.add_issue("A crash", HALF)
    assert run(["triage", "--no-input", "--comment", "pytorch/pytorch#1"]) == 2
    assert "nobody can answer" in capsys.readouterr().err
    assert tracker.count("issues/get") == 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault("issues/create-comment", status=401, message="Bad credentials"), 4),
        (Fault("issues/create-comment", status=403, message="Resource not accessible"), 4),
        (Fault("issues/create-comment", status=410, message="gone"), 2),
        (None, 5),
    ],
)
def test_what_was_judged_is_not_lost_where_the_comment_cannot_be_posted(
    fault: Fault | None, code: int, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(text: str) -> None:
        if fault is None:
            raise LeakError("the comment names this machine")

    monkeypatch.setattr(posting, "refuse_if_private", refuse)
    tracker.add_issue("A crash", HALF)
    tracker.faults = [fault] if fault is not None else []
    user = RecordedPrompt(["y"])
    result = one("pytorch/pytorch#1", user, comment=True)
    document = result.to_json()
    assert (result.exit_code, document["status"], document["posted"]) == (
        code,
        "not_actionable",
        None,
    )
    assert document["posting_error"]["exit_code"] == code
    assert document["posting_error"]["message"] in result.summarize()[-1]
    assert "not posted" in user.said[-1]


def test_known_issues_are_looked_for_on_the_host_of_their_project(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.add_issue("A crash", HALF)
    hosts = []

    def note(thread: Thread, wanted: object, user: object, session: TrackerSession, *place: object):  # type: ignore[no-untyped-def]
        hosts.append(session.host)
        return real(thread, wanted, user, session, *place)  # type: ignore[arg-type]

    real = service.triage
    monkeypatch.setattr(service, "triage", note)
    options = Options(no_input=True)
    for repo in (None, "o/r", "github.example.com/o/r"):
        asked = TriageArguments("pytorch/pytorch#1")
        serve(asked, repo, options, options, options, RecordedPrompt())
    assert hosts == ["github.com", "github.com", "github.example.com"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "give one issue"),
        ("x.md --search a", "give one issue"),
        ("--search a", "give -R"),
        ("--search a -R a/b --comment", "--comment posts on one issue"),
        ("--search a -R a/b --trust", "code that you have read"),
        ("no-such-file.md", "cannot be read"),
        ("no-such-file.md --comment", "needs an issue on a tracker"),
    ],
)
def test_what_does_not_go_together(
    line: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["triage", "--no-input", *line.split()]) == 2
    assert says in capsys.readouterr().err


def test_the_document(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    path.write_text(f"# Crash \x1b[31m\u202e\n\n{HALF}")
    assert run(["triage", "--json", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["issue"]["title"] == "Crash"
    assert document["status"] == "not_actionable" and document["labels"] == ["needs reproduction"]
    assert run(["triage", str(path)]) == 0
    assert not set("\x1b\u202e") & set(capsys.readouterr().out)

"""`check --comment` against a tracker that holds us to GitHub's description: one comment per change, whoever dies on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from reporter.errors import AuthenticationError, UsageError
from reporter.overview import show, sync
from reporter.releases.announce import Told
from reporter.releases.telling import announce, refuse_early
from reporter.releases.work import Check
from reporter.store.database import opened
from tests.created import bugreport
from tests.github.conftest import Somebody, environment, run_file
from tests.github.test_exactly_once import ROOT
from tests.github.tracker import TOKEN, Fault, Tracker

POST = "issues/create-comment"


def result(outcome: Any, torch: str = "2.14.0", key: str = "", **more: Any) -> Check:
    return Check(
        "r", key or known_key(), torch, torch, "3.11", outcome, "E: m", 1.0, (2, 2), **more
    )


def known_key() -> str:
    with opened() as store:
        row = store.execute("SELECT key FROM filings").fetchone()
    return str(row["key"])


def told(*results: Check, person: Somebody | None = None) -> list[Told]:
    return announce(results, person or Somebody(is_there=False), is_sure=person is None)


def comments(tracker: Tracker) -> list[str]:
    return [comment["body"] for comment in tracker.repo.issues[0]["comments"]]


def test_a_change_is_told_once_and_follows_the_report(tracker: Tracker, report: Path) -> None:
    run_file(report)
    assert told(result("reproduces")) == [] and comments(tracker) == []
    (first,) = told(result("fixed"))
    assert first.url.endswith("#issuecomment-1") and "no longer reproduces" in comments(tracker)[0]
    assert told(result("fixed")) == [] and told(result("fixed", "2.15.0")) == []
    (second,) = told(result("reproduces", "2.16.0"))
    assert second.url.endswith("#issuecomment-2") and "reproduces again" in comments(tracker)[1]
    # what was said beside the issue is no issue of its own
    assert len(show(known_key()).known.places) == 1
    assert sync().changes == ("1 of 1 filings asked about, 0 changed",)
    assert TOKEN not in "".join(comments(tracker))


def test_it_is_shown_and_sent_after_a_yes(tracker: Tracker, report: Path) -> None:
    run_file(report)
    person = Somebody(["n"])
    assert told(result("fixed"), person=person) == [] and comments(tracker) == []
    assert "no longer reproduces on torch `2.14.0`" in "\n".join(person.shown)
    assert len(told(result("fixed"), person=Somebody(["y"]))) == 1
    with pytest.raises(UsageError, match="nobody can answer"):
        refuse_early(Somebody(is_there=False), is_sure=False)


def test_no_token_is_said_before_the_work(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_file(report)
    monkeypatch.delenv("GH_TOKEN")
    with pytest.raises(AuthenticationError, match="no token"):
        refuse_early(Somebody(), is_sure=True)


def test_who_said_it_lately_spares_us_the_comment(tracker: Tracker, report: Path) -> None:
    run_file(report)
    now = datetime.now(timezone.utc)
    issue = tracker.repo.issues[0]
    issue["comments"] = [
        {"id": 1, "author": "kim", "body": "works for me now", "created_at": now - timedelta(60)},
    ]
    news = result("fixed", issue="pytorch/pytorch#1")
    assert len(told(news)) == 1  # that was long ago
    issue["comments"].append(
        {"id": 9, "author": "kim", "body": "Fails again, I can reproduce it", "created_at": now}
    )
    assert told(result("reproduces", "2.15.0")) == [] and len(issue["comments"]) == 3


def test_words_that_name_this_machine_are_left_out(tracker: Tracker, report: Path) -> None:
    run_file(report)
    told(result("fixed"))
    where = str(Path.home() / "envs" / "secret-project")
    leaky = Check(
        "r",
        known_key(),
        "2.16.0",
        "2.16.0",
        "3.11",
        "reproduces",
        f"E: {TOKEN} {where}",
        1.0,
        (1, 1),
    )
    (found,) = told(leaky)
    assert found.url and TOKEN not in comments(tracker)[1] and where not in comments(tracker)[1]
    assert "This reproduces again on torch `2.16.0`" in comments(tracker)[1]


def test_an_issue_that_cannot_be_read_costs_nothing(tracker: Tracker, report: Path) -> None:
    run_file(report)
    tracker.faults = [Fault("issues/get", status=503, times=1000)]
    person = Somebody(is_there=False)
    assert announce([result("fixed")], person, is_sure=True) == []
    assert any("was not told" in line for line in person.said)
    tracker.faults = []
    assert len(told(result("fixed"))) == 1


DRIVER = """
import sys
from reporter.releases.telling import announce
from reporter.releases.work import Check
from tests.github.conftest import Somebody
check = Check("r", sys.argv[1], sys.argv[2], sys.argv[2], "3.11", "fixed", "", 1.0, (2, 2))
announce([check], Somebody(is_there=False), is_sure=True)
"""


def start(tracker: Tracker, tmp_path: Path, torch: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, known_key(), torch],
        cwd=ROOT,
        env=environment(tracker, tmp_path / "store.sqlite3"),
    )


@pytest.mark.parametrize("processed", [False, True])
def test_killed_behind_the_request_it_is_still_one_comment(
    processed: bool, tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    tracker.faults = [Fault(POST, "kill", processed=processed)]
    process = start(tracker, tmp_path, "2.14.0")
    tracker.victim = process.pid
    assert process.wait(60) == -9
    assert len(comments(tracker)) == processed
    # the next night there is a newer release
    (found,) = told(result("fixed", "2.14.1"))
    assert found.url and len(comments(tracker)) == 1
    # and the change after that is a comment of its own
    assert len(told(result("reproduces", "2.15.0"))) == 1 and len(comments(tracker)) == 2


def test_two_processes_with_the_same_news_write_one_comment(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    both = [start(tracker, tmp_path, torch) for torch in ("2.14.0", "2.15.0")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(comments(tracker)) == 1 and tracker.count(POST) == 1


@pytest.mark.slow
def test_the_command_tells_an_issue_that_was_closed_too_early(
    tracker: Tracker, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    run_file(report)
    tracker.repo.issues[0].update(state="closed", state_reason="completed")
    words = ["check", report, "--python", sys.executable, "--comment", "--json", "--fresh"]
    refused = bugreport(*words, "--no-input", cwd=tmp_path)
    assert refused.returncode == 2 and "add --yes" in refused.stderr
    for number in (1, 0):
        done = bugreport(*words, "--yes", cwd=tmp_path)
        document = json.loads(done.stdout)
        assert done.returncode == 1 and len(document["comments"]) == number, done.stderr
    assert len(comments(tracker)) == 1 and "still reproduces on torch" in comments(tracker)[0]

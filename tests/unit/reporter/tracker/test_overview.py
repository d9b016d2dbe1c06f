"""`list`, `show`, `sync`: what the store knows, and what has become of it on the tracker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reporter.core.errors import AuthenticationError, UsageError
from reporter.store.database import open_store
from reporter.tracker.outcome import PreviewResult
from reporter.tracker.overview import build_listing, show, sync
from tests.support.created import command
from tests.support.github.submitter import RecordedPrompt, copied, other_report, run_file
from tests.support.github.tracker import Fault, Tracker


def test_nothing_is_a_sentence(tmp_path: Path) -> None:
    done = command("list", cwd=tmp_path)
    assert done.returncode == 0 and "there is no report yet" in done.stdout
    assert json.loads(command("list", "--json", cwd=tmp_path).stdout)["reports"] == []


def test_a_filed_report_is_followed_until_it_is_closed(tracker: Tracker, report: Path) -> None:
    run_file(report)
    (known,) = build_listing().known
    assert known.filings[0].name == "pytorch/pytorch#1" and known.filings[0].status == "open"
    issue = tracker.repo.issues[0]
    issue.update(
        state="closed", state_reason="completed", labels=["module: inductor", "fixed\x1b[2J"]
    )
    result = sync()
    assert result.exit_code == 0
    assert "pytorch/pytorch#1: open → closed (completed)" in result.changes
    assert "pytorch/pytorch#1: labels added: fixed, module: inductor" in result.changes
    assert sync().changes == ("1 of 1 filings asked about, 0 changed",)
    table = "\n".join(build_listing().summarize())
    assert (
        "closed completed" in table
        and "pytorch/pytorch#1" in table
        and known.report.key[:8] in table
    )


def test_a_long_title_is_no_change(tracker: Tracker, report: Path) -> None:
    text = (report / "issue.md").read_text()
    (report / "issue.md").write_text("word " * 30 + text[text.index("\n") :])
    run_file(report)
    assert sync().changes == ("1 of 1 filings asked about, 0 changed",)


def test_show_takes_a_folder_a_key_or_its_beginning(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    key = build_listing().known[0].report.key
    for name in (str(report), key, key[:5]):
        assert show(name).known.report.key == key
    steps = [(row[1], row[2]) for row in show(key).known.history]
    assert steps == [("pytorch/pytorch", state) for state in ("planned", "sent", "confirmed")]
    run_file(other_report(tmp_path))
    assert len(show(key).alike) == 1
    for name, says in (
        ("f00", "is called"),
        ("", "is called"),
        (str(tmp_path), "not a report folder"),
    ):
        with pytest.raises(UsageError, match=says):
            show(name)
    lines = show(key).summarize()
    assert any(line.startswith("issue:") and "issues/1" in line for line in lines)


def test_a_check_of_a_report_is_in_the_list(tracker: Tracker, report: Path) -> None:
    run_file(report)
    key = build_listing().known[0].report.key
    with open_store() as store:
        for time, outcome in (("2026-01-01", "reproduces"), ("2026-02-01", "fixed")):
            store.execute(
                "INSERT INTO checks"
                " (run, time, repro, key, release, torch, python, outcome, detail, seconds)"
                " VALUES (?, ?, 'r', ?, '2.15.0', '2.15.0', '3.11', ?, '', 1)",
                (time, time, key, outcome),
            )
    assert "2.15.0 fixed" in "\n".join(build_listing().summarize())


def test_an_issue_filed_by_hand_is_found_by_its_mark(tracker: Tracker, report: Path) -> None:
    shown = run_file(report, RecordedPrompt(), web=True)
    assert isinstance(shown, PreviewResult) and shown.form is not None
    text = "\n\n".join(f"### {heading}\n\n{part}" for heading, part in shown.form.sections)
    assert sync().changes == ("1 of 1 filings asked about, 0 changed",)
    tracker.add_issue("by hand", text)
    assert (
        sync().changes[0] == "pytorch/pytorch#1: found, https://github.com/pytorch/pytorch/issues/1"
    )
    assert build_listing().known[0].filings[0].name == "pytorch/pytorch#1"


def test_trouble_with_one_issue_does_not_hide_the_others(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    run_file(other_report(tmp_path))
    tracker.faults = [Fault("issues/get", status=410, message="This issue was deleted")]
    result = sync()
    assert result.exit_code == 0 and len(result.trouble) == 1 and "deleted" in result.trouble[0]
    tracker.faults = [Fault("repos/get", status=401, message="Bad credentials", times=9)]
    with pytest.raises(AuthenticationError):
        sync()
    tracker.faults = [Fault("repos/get", status=503, times=99)]
    assert sync().exit_code == 125


def test_a_folder_that_is_gone_is_said_to_be_gone(tracker: Tracker, tmp_path: Path) -> None:
    folder = copied("foobar", tmp_path / "gone")
    run_file(folder)
    shutil.rmtree(folder)
    key = build_listing().known[0].report.key
    assert "(no longer there)" in "\n".join(show(key).summarize())
    assert show(key).to_json()["folder_exists"] is False

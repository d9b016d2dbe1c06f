"""Processes that file and are killed, or race: there is never a second issue or comment, and none
is lost.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from reporter.store.filings import FilingState
from reporter.store.reports import compute_key
from tests.support.github.mortal import Mortal, announce_fixed, file_until
from tests.support.github.notifying import comments, known_key, notify, result
from tests.support.github.submitter import attempt, copied, environment, run_file, state_of
from tests.support.github.tracker import Fault, Tracker

CREATE, GET, COMMENT = "issues/create", "issues/get", "issues/create-comment"
MOMENTS = [
    f"{when}:{step}"
    for step in ("planned", "look", "sent", "request", "confirmed")
    for when in ("before", "after")
]
_NUMBERS = itertools.count()
NETWORK = [
    (operation, processed)
    for operation in (
        "repos/get",
        "issues/get-label",
        "issues/list-for-repo",
        "search/issues-and-pull-requests",
        CREATE,
        GET,
    )
    for processed in (False, True)
]


def filing(tracker: Tracker, folder: Path, moment: str = "", **more: str) -> Mortal:
    variables = {**environment(tracker, folder.parent / "store.sqlite3"), **more}
    output = folder.parent / f"output of {next(_NUMBERS)}"
    return Mortal(file_until, variables, output, str(folder), moment)


@pytest.mark.parametrize("moment", MOMENTS)
def test_kill_9_between_any_two_steps_of_ours(moment: str, tracker: Tracker, report: Path) -> None:
    tracker.index_lags = True
    process = filing(tracker, report, moment)
    assert process.end() == -9, process.output
    created = len(tracker.repo.issues)
    assert created == (moment in ("after:request", "before:confirmed", "after:confirmed"))
    assert attempt(report) == (0, "already_filed" if created else "filed")
    assert len(tracker.repo.issues) == 1 and state_of(report) is FilingState.CONFIRMED


@pytest.mark.parametrize(("operation", "processed"), NETWORK)
def test_kill_9_while_any_request_is_under_way(
    operation: str, processed: bool, tracker: Tracker, report: Path
) -> None:
    tracker.index_lags = True
    tracker.faults = [Fault(operation, "kill", processed=processed)]
    process = filing(tracker, report)
    tracker.victim = process.pid
    assert process.end() == -9, process.output
    created = len(tracker.repo.issues)
    assert created == ((operation, processed) == (CREATE, True) or operation == GET)
    assert attempt(report) == (0, "already_filed" if created else "filed")
    assert len(tracker.repo.issues) == 1 and state_of(report) is FilingState.CONFIRMED


def test_the_next_process_waits_until_the_request_of_a_dead_one_cannot_be_under_way(
    tracker: Tracker, report: Path
) -> None:
    """A process dies right after sending; its request is carried out while the next process looks
    for it.
    """
    tracker.index_lags = True
    first = filing(tracker, report, "after:sent")
    assert first.end() == -9 and state_of(report) is FilingState.SENT, first.output
    mark = f"<!-- bugreport-key: {compute_key((report / 'repro.py').read_text())} -->"
    tracker.under_way.append((3, lambda: tracker.add_issue("late", mark)))
    assert attempt(report) == (0, "already_filed")
    assert tracker.count(CREATE) == 0 and len(tracker.repo.issues) == 1


@pytest.mark.parametrize("which", ["two stores", "one store", "two folders"])
def test_two_processes_that_file_the_same_report_make_one_issue(
    which: str, tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    tracker.index_lags = True
    folders, more = [report, report], [{}, {}]
    if which == "two stores":
        more[1] = {"BUGREPORT_STORE": str(tmp_path / "other.sqlite3")}
    if which == "two folders":
        folders[1] = copied("foobar", tmp_path / "copy")
    both = [filing(tracker, folder, **given) for folder, given in zip(folders, more)]
    assert [process.end() for process in both] == [0, 0], [process.output for process in both]
    assert len(tracker.repo.issues) == 1 and tracker.count(CREATE) == 1
    assert sorted("already_filed" in process.output for process in both) == [False, True]


def start_notifying(tracker: Tracker, tmp_path: Path, torch: str) -> Mortal:
    variables = environment(tracker, tmp_path / "store.sqlite3")
    return Mortal(announce_fixed, variables, tmp_path / f"output of {torch}", known_key(), torch)


@pytest.mark.parametrize("processed", [False, True])
def test_killed_behind_the_request_it_is_still_one_comment(
    processed: bool, tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    tracker.faults = [Fault(COMMENT, "kill", processed=processed)]
    process = start_notifying(tracker, tmp_path, "2.14.0")
    tracker.victim = process.pid
    assert process.end() == -9, process.output
    assert len(comments(tracker)) == processed
    # the next night there is a newer release
    (found,) = notify(result("fixed", "2.14.1"))
    assert found.url and len(comments(tracker)) == 1
    # and the change after that is a comment of its own
    assert len(notify(result("reproduces", "2.15.0"))) == 1 and len(comments(tracker)) == 2


def test_two_processes_with_the_same_news_write_one_comment(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    both = [start_notifying(tracker, tmp_path, torch) for torch in ("2.14.0", "2.15.0")]
    assert [process.end() for process in both] == [0, 0], [process.output for process in both]
    assert len(comments(tracker)) == 1 and tracker.count(COMMENT) == 1

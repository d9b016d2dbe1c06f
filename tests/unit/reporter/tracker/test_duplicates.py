"""What somebody else has reported is found with reasons, ranked, and offered for a comment; it
never costs a report.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.tracker.duplicates import build_queries
from reporter.tracker.outcome import FilingResult, PreviewResult
from reporter.tracker.repository import Repository
from reporter.tracker.submission import read_submission
from tests.support.github.submitter import WORDS, RecordedPrompt, copied, other_report, run_file
from tests.support.github.tracker import Fault, Tracker

TORCH = Repository("github.com", "pytorch", "pytorch")
SAME_CRASH = """LoweringException when compiling
```
  File "torch/_inductor/lowering.py", line 812, in _foobar
LoweringException: AssertionError:
  target: aten._foobar.default
```"""


def test_a_report_of_the_same_failure_is_found_by_its_fingerprint(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(other_report(tmp_path), yes=True, summary=WORDS)
    (tmp_path / "store.sqlite3").unlink()  # somebody else's machine
    user = RecordedPrompt(["q"])
    shown = run_file(report, user)
    assert isinstance(shown, PreviewResult) and shown.action == "declined"
    said = "\n".join(user.said)
    assert "1 issue looks like the same bug:" in said and "likely  #1 (open)" in said
    assert "because of a report of the same failure: layer, exception" in said
    assert len(tracker.repo.issues) == 1


def test_what_others_wrote_is_found_by_exception_and_operators_and_ranked(
    tracker: Tracker, report: Path
) -> None:
    tracker.add_issue("torch.compile is slow", "LoweringException in a program with torch.matmul")
    tracker.add_issue("[inductor] crash in aten._foobar", SAME_CRASH)
    tracker.add_issue("Docs of torch.compile", "nothing to do with it")
    filed = run_file(report)
    assert isinstance(filed, FilingResult) and filed.action == "filed"
    first, *rest = filed.duplicates.candidates
    assert first.number == 2 and first.is_likely
    assert any("_foobar" in reason for reason in first.reasons)
    assert all(item.score < first.score and not item.is_likely for item in rest)


def test_a_comment_brings_the_new_environment(tracker: Tracker, report: Path) -> None:
    tracker.add_issue("[inductor] crash in aten._foobar", SAME_CRASH)
    user = RecordedPrompt(["c", WORDS, "y"])
    filed = run_file(report, user)
    assert isinstance(filed, FilingResult) and filed.action == "commented"
    assert filed.url == "https://github.com/pytorch/pytorch/issues/1#issuecomment-1"
    (issue,) = tracker.repo.issues
    (comment,) = issue["comments"]
    assert "This also happens with torch 2.13.0" in comment["body"] and WORDS in comment["body"]
    assert "PyTorch version: 2.13.0" in comment["body"] and comment["body"] in "\n".join(user.shown)
    again = run_file(report, yes=True, summary=WORDS, comment_on=1)
    assert (
        isinstance(again, FilingResult)
        and again.action == "already_filed"
        and len(issue["comments"]) == 1
    )


def test_doubts_about_a_comment_are_told_before_the_question(
    tracker: Tracker, report: Path
) -> None:
    tracker.add_issue("[inductor] crash in aten._foobar", SAME_CRASH)
    user = RecordedPrompt(["c", "See also https://example.org/notes for how it began.", "n"])
    run_file(report, user)
    assert any("comment.md has a URL; is it meant" in line for line in user.said)


@pytest.mark.parametrize("fault", ["reset", "garble"])
def test_a_comment_is_sent_once_too(fault: str, tracker: Tracker, report: Path) -> None:
    tracker.add_issue("[inductor] crash", SAME_CRASH)
    tracker.faults = [Fault("issues/create-comment", fault, processed=True)]
    filed = run_file(report, yes=True, summary=WORDS, comment_on=1)
    assert isinstance(filed, FilingResult) and filed.action == "commented"
    assert len(tracker.repo.issues[0]["comments"]) == 1 and tracker.count("issues/create") == 0


def test_a_closed_issue_is_shown_and_no_comment_offered(tracker: Tracker, report: Path) -> None:
    tracker.add_issue(
        "[inductor] crash in aten._foobar", SAME_CRASH, state="closed", state_reason="completed"
    )
    user = RecordedPrompt([WORDS, "y"])
    filed = run_file(report, user)
    assert isinstance(filed, FilingResult) and filed.action == "filed"
    assert any("likely  #1 (closed)" in line for line in user.said)


def test_ones_own_report_is_found_in_the_store_before_the_index_knows_it(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    tracker.index_lags = True
    run_file(other_report(tmp_path), yes=True, summary=WORDS)
    filed = run_file(report)
    assert isinstance(filed, FilingResult)
    (candidate,) = filed.duplicates.candidates
    assert candidate.number == 1 and candidate.reasons[0].startswith(
        "your own report of the same failure"
    )


def test_a_search_that_gave_up_early_is_told(tracker: Tracker, report: Path) -> None:
    tracker.search_gives_up = True
    user = RecordedPrompt([WORDS, "y"])
    run_file(report, user)
    assert any("gave up early, so there may be more" in line for line in user.said)


def test_without_a_fingerprint_nothing_matches_by_it(tracker: Tracker, tmp_path: Path) -> None:
    folders = [copied("foobar", tmp_path / "one"), other_report(tmp_path)]
    for folder in folders:
        document = json.loads((folder / "report.json").read_text())
        document["fingerprint"] = {"value": "", "parts": []}
        (folder / "report.json").write_text(json.dumps(document))
    tracker.index_lags = True
    run_file(folders[0])
    filed = run_file(folders[1])
    assert isinstance(filed, FilingResult) and filed.duplicates.candidates == ()
    assert "bugreport-fingerprint" not in tracker.repo.issues[1]["body"]


def test_a_hostile_title_is_shown_as_text(tracker: Tracker, report: Path) -> None:
    tracker.add_issue("crash \x1b[2J\x1b]0;owned\x07\u202eforged [inductor] _foobar", SAME_CRASH)
    user = RecordedPrompt(["q"])
    run_file(report, user)
    said = "\n".join(user.said)
    assert "\x1b" not in said and "\u202e" not in said and "crash forged [inductor]" in said


def test_a_query_fits_the_search(report: Path) -> None:
    document = json.loads((report / "report.json").read_text())
    document["verdict"]["message"] = "a " + "very_long_word_of_an_error_message " * 30
    document["repro"]["operators"] = [
        f"torch.ops.aten.operator_number_{'x' * 60}{n}" for n in range(9)
    ]
    (report / "report.json").write_text(json.dumps(document))
    asked = build_queries(TORCH, read_submission(report).failure)
    assert len(asked) == 3 and all(len(query) <= 256 for query in asked)
    assert all("repo:pytorch/pytorch is:issue" in query for query in asked)

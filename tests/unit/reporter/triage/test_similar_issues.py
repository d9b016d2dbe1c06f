"""From a judged issue to its like on the tracker: by the mark of a report, by the text of the
exception, by operators.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from reporter.core.kinds import Kind, Layer
from reporter.report.fingerprint import Fingerprint
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.repository import IssueAddress, Repository
from reporter.triage.attempt import Attempt, Attempts
from reporter.triage.reading.repro_selection import Repro, extract
from reporter.triage.reading.stated_failure import read_stated
from reporter.triage.reading.thread import Thread, fetch
from reporter.triage.result import Triage
from reporter.triage.sandboxed_verdict import CommandVerdict, FailureMarks
from reporter.triage.similar_issues import add_duplicates, list_called_operators
from reporter.triage.suggestions import render_comment
from tests.support.github.tracker import Fault, Tracker
from tests.support.places import DATA

ISSUES = DATA / "issues"
PROGRAM = (
    "import torch\n\ndef f(x):\n    return torch.special.zeta(x.t().cummax(0)[0], 2.0)\n\n"
    "print(torch.compile(f)(torch.ones(3, 3)))\n"
)
MARK = Fingerprint(("inductor", "LoweringException", "torch/_inductor/lowering.py:zeta"))
CRASH = CommandVerdict(
    kind=Kind.CRASH,
    layer=Layer.INDUCTOR,
    marks=FailureMarks(
        exception="LoweringException",
        message="AssertionError: zeta of 2 dims expected",
        fingerprint=MARK.to_section().to_json(),
        labels=("module: inductor",),
    ),
)
WRONG = CommandVerdict(kind=Kind.WRONG_RESULT, layer=Layer.INDUCTOR)


def judged(tracker: Tracker, judged: CommandVerdict) -> Triage:
    """The triage of issue 1 as it stands when its program has been judged."""
    tracker.add_issue("zeta fails", f"It fails.\n\n```python\n{PROGRAM}```\n")
    with TrackerSession("github.com", token_needed=False) as session:
        thread = fetch(session, address())
        found = extract(thread)
        assert isinstance(found, Repro)
        ran = Attempts("2.13.0", "3.11.7", (Attempt("fails", "same", "X: y", "", 1.0),))
        return Triage(
            thread, "reproduces", "It fails.", read_stated(thread), found, None, (ran,), judged
        )


def address():  # type: ignore[no-untyped-def]
    from reporter.tracker.repository import parse_issue

    return parse_issue("pytorch/pytorch#1")


def looked(result: Triage) -> Triage:
    with TrackerSession("github.com", token_needed=False) as session:
        return add_duplicates(result, session, None)


@pytest.mark.parametrize(
    ("verdict", "title", "body", "because"),
    [
        (CRASH, "another crash", f"text\n<!-- bugreport-fingerprint: {MARK.value} -->",
         "a report of the same failure"),
        (CRASH, "crash", "LoweringException: AssertionError: zeta of 7 dims expected\n"
         '  File "torch/_inductor/lowering.py", line 3, in zeta', "the error message"),
        (WRONG, "wrong zeta", "torch.compile: torch.special.zeta(x.t().cummax(0)[0], 2.0)",
         "the operators zeta, cummax, t"),
    ],
    ids=["mark", "exception", "operators"],
)  # fmt: skip
def test_the_like_of_a_judged_issue_is_found(
    tracker: Tracker, verdict: CommandVerdict, title: str, body: str, because: str
) -> None:
    result = judged(tracker, verdict)
    tracker.add_issue(title, body)
    tracker.add_issue("Docs of torch.compile", "LoweringException and torch.compile, explained")
    found = looked(result)
    first = found.duplicates[0]
    assert (first.number, first.is_likely) == (2, True), found.duplicates
    assert any(because in reason for reason in first.reasons), first.reasons
    assert all(item.number != 1 for item in found.duplicates)  # an issue is no duplicate of itself
    assert "- #2" in render_comment(found) and "- #3" not in render_comment(found)


def test_an_issue_of_the_same_number_elsewhere_is_another_one(tracker: Tracker) -> None:
    other = Repository("github.com", "o", "other")
    result = judged(tracker, CRASH)
    moved = replace(result.thread, address=IssueAddress(other, 2))
    tracker.add_issue("another crash", f"<!-- bugreport-fingerprint: {MARK.value} -->")
    with TrackerSession("github.com", token_needed=False) as session:
        place = Repository("github.com", "pytorch", "pytorch")
        found = add_duplicates(replace(result, thread=moved), session, place)
        assert [item.number for item in found.duplicates][:1] == [2]
        assert "- pytorch/pytorch#2" in render_comment(found)
        own = replace(result.thread, address=IssueAddress(replace(place, owner="PyTorch"), 2))
        found = add_duplicates(replace(result, thread=own), session, place)
    assert all(item.number != 2 for item in found.duplicates)


def test_a_search_that_fails_costs_the_list_and_is_told(tracker: Tracker) -> None:
    result = judged(tracker, CRASH)
    tracker.faults = [Fault("search/issues-and-pull-requests", status=422, message="no", times=9)]
    found = looked(result)
    assert found.duplicates == () and found.status == "reproduces"
    assert any("search for duplicates" in note for note in found.notes)


def test_a_posted_program_tells_its_operators_before_it_is_reduced() -> None:
    assert list_called_operators(PROGRAM) == ("torch.special.zeta", "cummax", "t")
    text = (
        "import torch\nclass M(torch.nn.Module):\n"
        "    def forward(self, x):\n        return self.helper(x).sin()\n"
        "    def helper(self, x):\n        return torch.fft.rfft(x)\n"
        "print(M()(torch.ones(2)).shape)\n"
    )
    assert list_called_operators(text) == ("sin", "torch.fft.rfft")


def test_a_thread_from_a_file_has_no_tracker_to_ask() -> None:
    thread = Thread("x.md", "t", ())
    result = Triage(thread, "reproduces", "", read_stated(thread), judged=CRASH)
    assert add_duplicates(result, None, None) == result

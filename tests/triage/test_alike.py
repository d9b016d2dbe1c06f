"""From a judged issue to its like on the tracker: by the mark of a report, by the text of the exception, by operators."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from reporter.errors import CannotJudgeError
from reporter.fingerprint import Fingerprint
from reporter.github.session import Session
from reporter.sandbox import bubblewrap
from reporter.settings import Options
from reporter.triage.alike import operators_of, with_duplicates
from reporter.triage.answer import comment
from reporter.triage.attempt import Attempt, Runs
from reporter.triage.desk import Asked, sit
from reporter.triage.extract import Repro, extract
from reporter.triage.result import Triage
from reporter.triage.stated import stated
from reporter.triage.thread import Thread, fetch
from reporter.triage.verdict import Judged
from tests.github.conftest import Somebody, tracker
from tests.github.tracker import Fault, Tracker

__all__ = ["tracker"]
ISSUES = Path(__file__).parents[1] / "data" / "issues"
PROGRAM = "import torch\n\ndef f(x):\n    return torch.special.zeta(x.t().cummax(0)[0], 2.0)\n\nprint(torch.compile(f)(torch.ones(3, 3)))\n"
MARK = Fingerprint(("inductor", "LoweringException", "torch/_inductor/lowering.py:zeta"))
CRASH = Judged(
    kind="crash",
    layer="inductor",
    is_bug=True,
    summary="Compiling raises LoweringException; eager runs.",
    exception="LoweringException",
    message="AssertionError: zeta of 2 dims expected",
    fingerprint=MARK.to_json(),
    labels=("module: inductor",),
)
WRONG = Judged(kind="wrong_result", layer="inductor", is_bug=True, summary="Wrong values.")


def judged(tracker: Tracker, judged: Judged) -> Triage:
    """The triage of issue 1 as it stands when its program has been judged."""
    tracker.add_issue("zeta fails", f"It fails.\n\n```python\n{PROGRAM}```\n")
    with Session("github.com", token_needed=False) as session:
        thread = fetch(session, address())
        found = extract(thread)
        assert isinstance(found, Repro)
        ran = Runs("2.13.0", "3.11.7", (Attempt("fails", "same", "X: y", "", "", 1.0),))
        return Triage(
            thread, "reproduces", "It fails.", stated(thread), found, None, (ran,), judged
        )


def address():  # type: ignore[no-untyped-def]
    from reporter.github.place import parse_issue

    return parse_issue("pytorch/pytorch#1")


def looked(result: Triage) -> Triage:
    with Session("github.com", token_needed=False) as session:
        return with_duplicates(result, session, None)


@pytest.mark.parametrize(
    ("verdict", "title", "body", "because"),
    [
        (CRASH, "another crash", f"text\n<!-- bugreport-fingerprint: {MARK.value} -->", "a report of the same failure"),
        (CRASH, "crash", 'LoweringException: AssertionError: zeta of 7 dims expected\n  File "torch/_inductor/lowering.py", line 3, in zeta', "the error message"),
        (WRONG, "wrong zeta", "torch.compile: torch.special.zeta(x.t().cummax(0)[0], 2.0)", "the operators zeta, cummax, t"),
    ],
    ids=["mark", "exception", "operators"],
)  # fmt: skip
def test_the_like_of_a_judged_issue_is_found(
    tracker: Tracker, verdict: Judged, title: str, body: str, because: str
) -> None:
    result = judged(tracker, verdict)
    tracker.add_issue(title, body)
    tracker.add_issue("Docs of torch.compile", "LoweringException and torch.compile, explained")
    found = looked(result)
    first = found.duplicates[0]
    assert (first.number, first.is_likely) == (2, True), found.duplicates
    assert any(because in reason for reason in first.reasons), first.reasons
    assert all(item.number != 1 for item in found.duplicates)  # an issue is no duplicate of itself
    assert "- #2" in comment(found) and "- #3" not in comment(found)


def test_a_search_that_fails_costs_the_list_and_is_told(tracker: Tracker) -> None:
    result = judged(tracker, CRASH)
    tracker.faults = [Fault("search/issues-and-pull-requests", status=422, message="no", times=9)]
    found = looked(result)
    assert found.duplicates == () and found.status == "reproduces"
    assert any("search for duplicates" in note for note in found.notes)


def test_a_posted_program_tells_its_operators_before_it_is_reduced() -> None:
    assert operators_of(PROGRAM) == ("torch.special.zeta", "cummax", "t")
    text = "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return self.helper(x).sin()\n    def helper(self, x):\n        return torch.fft.rfft(x)\nprint(M()(torch.ones(2)).shape)\n"
    assert operators_of(text) == ("sin", "torch.fft.rfft")


@pytest.mark.slow
def test_from_the_address_of_an_issue_to_its_duplicates(tracker: Tracker) -> None:
    """Nothing is made up: the issue is fetched, its program runs and is judged in the sandbox, and its like is searched for."""
    try:
        bubblewrap.program()
    except CannotJudgeError as error:
        pytest.skip(str(error))
    text = (ISSUES / "weakref_tag.md").read_text()
    body = text.replace("torch.compile(tag)", 'torch.compile(tag, backend="eager")')
    title, _, body = body.partition("\n")
    said = "AttributeError: attribute '__weakref__' of 'Thing' objects is not writable"
    tracker.add_issue(title.lstrip("# "), body)
    tracker.add_issue(
        "[dynamo] a caught AttributeError escapes", f"torch.compile\n```\n{said}\n```\n"
    )
    tracker.add_issue("torch.compile raises AttributeError", "AttributeError: no attribute 'y'")
    asked = Asked("pytorch/pytorch#1", (Path(sys.executable),), quick=True, comment=True)
    result = sit(Options(no_input=True), asked, Somebody(["y"]))
    assert isinstance(result, Triage) and result.status == "reproduces"
    assert result.duplicates and result.duplicates[0].number == 2, result
    assert "the error message" in result.duplicates[0].reasons
    (posted,) = tracker.repo.issues[0]["comments"]
    assert "The failure shows here" in posted["body"]
    assert json.dumps(result.to_json())


def test_a_thread_from_a_file_has_no_tracker_to_ask() -> None:
    thread = Thread("x.md", "t", ())
    result = Triage(thread, "reproduces", "", stated(thread), judged=CRASH)
    assert with_duplicates(result, None, None) == result

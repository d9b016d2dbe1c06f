"""Whole triages: a real failure, in the sandbox, by a real torch; the sandbox shows no warm
interpreter, so this one is cold.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.core.settings import Options
from reporter.triage.arguments import TriageArguments
from reporter.triage.batch import TriagedSearch
from reporter.triage.result import Triage
from reporter.triage.service import serve
from tests.support import interpreter
from tests.support.github.fixtures import tracker, waits
from tests.support.github.mortal import Mortal, triage_search
from tests.support.github.submitter import RecordedPrompt, environment
from tests.support.github.tracker import Fault, Tracker
from tests.support.places import DATA
from tests.support.sandbox import needs_bubblewrap, triage

__all__ = ["tracker", "waits"]
ISSUES = DATA / "issues"
NO_CODE = "### 🐛 Describe the bug\n\nIt fails since the update."
HALF = "It fails.\n\n```python\nimport torch\nnet = build()\ntorch.compile(net)(batch)\n```\n"


@pytest.fixture(autouse=True)
def a_sandbox() -> None:
    needs_bubblewrap()


@pytest.mark.slow
def test_a_failure_of_dynamo_is_judged_in_the_sandbox(tmp_path: Path) -> None:
    """No compiler is needed for this one, so it is the quickest that goes all the way."""
    text = (ISSUES / "weakref_tag.md").read_text()
    path = tmp_path / "issue.md"
    path.write_text(text.replace("torch.compile(tag)", 'torch.compile(tag, backend="eager")'))
    code, document = triage(path, tmp_path, "--quick", "--python", interpreter.COLD)
    assert code == 0, document
    assert document["sandbox"] is True
    assert (document["status"], document["runs"][0]["match"]) == ("reproduces", "same")
    assert (document["verdict"]["kind"], document["verdict"]["layer"]) == ("crash", "dynamo")
    assert document["labels"] == ["module: dynamo"]
    assert "The failure shows here" in document["comment"]
    assert str(Path.home()) not in document["comment"]


def test_what_the_machine_lacks_is_told_before_anything_runs(tmp_path: Path) -> None:
    text = (ISSUES / "needs_gpu.md").read_text()
    path = tmp_path / "issue.md"
    path.write_text(text.replace("torch.compile(", "torch.cuda.memory_allocated(); torch.compile("))
    code, document = triage(path, tmp_path, "--python", interpreter.COLD)
    assert (code, document["status"]) == (0, "not_actionable")
    assert document["refusal"]["kind"] == "needs_hardware"
    assert document["runs"] == [] and document["labels"] == []


def test_many_issues_are_a_table_and_are_not_judged_twice(tracker: Tracker) -> None:
    tracker.add_issue("compile: no code", NO_CODE)
    tracker.add_issue("compile: half the code", HALF)
    tracker.add_issue("[Feature request]: compile faster", NO_CODE)
    asked = TriageArguments(search="compile", limit=10, pythons=(interpreter.COLD,))
    options = Options(no_input=True)
    given = (asked, "pytorch/pytorch", options, options, options)
    first = serve(*given, RecordedPrompt())
    assert isinstance(first, TriagedSearch) and first.exit_code == 0
    kinds = [document["refusal"]["kind"] for document in first.documents]
    assert kinds == ["no_code", "not_self_contained", "no_bug_report"]
    assert first.summarize()[-1] == "3 issues: 3 not_actionable"
    read = tracker.count("issues/get")
    second = serve(*given, RecordedPrompt())
    assert isinstance(second, TriagedSearch) and second.documents == first.documents
    assert tracker.count("issues/get") == read


KILLS = [
    *(("search/issues-and-pull-requests", processed, 0) for processed in (False, True)),
    *(("issues/get", processed, skip) for skip in range(3) for processed in (False, True)),
]


@pytest.mark.parametrize(
    ("operation", "processed", "skip"),
    [
        pytest.param(*kill, marks=() if kill == ("issues/get", True, 1) else pytest.mark.slow)
        for kill in KILLS
    ],
)
def test_a_search_that_is_killed_goes_on_where_it_was(
    operation: str, processed: bool, skip: int, tracker: Tracker, tmp_path: Path
) -> None:
    """The issues that had been judged are not fetched again, and nothing is posted."""
    for title, body in (("compile: a", NO_CODE), ("compile: b", HALF), ("compile: c", NO_CODE)):
        tracker.add_issue(title, body)
    tracker.faults = [Fault(operation, "kill", processed=processed, skip=skip)]
    variables = environment(tracker, tmp_path / "store.sqlite3")
    python = str(interpreter.WARM)
    killed = Mortal(triage_search, variables, tmp_path / "killed", python)
    tracker.victim = killed.pid
    assert killed.end() == -9, killed.output
    before = tracker.count("issues/get")
    again = Mortal(triage_search, variables, tmp_path / "again", python)
    assert again.end() == 0, again.output
    document = json.loads(again.output[again.output.index("{") :])
    assert [row["status"] for row in document["results"]] == ["not_actionable"] * 3
    judged = skip if operation == "issues/get" else 0
    assert tracker.count("issues/get") - before == 3 - judged
    assert all(not issue["comments"] for issue in tracker.repo.issues)


def test_from_the_address_of_an_issue_to_its_duplicates(tracker: Tracker) -> None:
    """Nothing is made up: the issue is fetched, its program runs and is judged in the sandbox, and
    its like is searched for.
    """
    text = (ISSUES / "weakref_tag.md").read_text()
    body = text.replace("torch.compile(tag)", 'torch.compile(tag, backend="eager")')
    title, _, body = body.partition("\n")
    said = "AttributeError: attribute '__weakref__' of 'Thing' objects is not writable"
    tracker.add_issue(title.lstrip("# "), body)
    tracker.add_issue(
        "[dynamo] a caught AttributeError escapes", f"torch.compile\n```\n{said}\n```\n"
    )
    tracker.add_issue("torch.compile raises AttributeError", "AttributeError: no attribute 'y'")
    asked = TriageArguments("pytorch/pytorch#1", (interpreter.COLD,), quick=True, comment=True)
    options = Options(no_input=True)
    result = serve(asked, None, options, options, options, RecordedPrompt(["y"]))
    assert isinstance(result, Triage) and result.status == "reproduces"
    assert result.duplicates and result.duplicates[0].number == 2, result
    assert "the error message" in result.duplicates[0].reasons
    (posted,) = tracker.repo.issues[0]["comments"]
    assert "The failure shows here" in posted["body"]
    assert json.dumps(result.to_json())


@pytest.mark.slow
def test_a_program_that_takes_everything_is_not_judged(tmp_path: Path) -> None:
    path = DATA / "made_issues" / "takes_everything.md"
    code, document = triage(
        path, tmp_path, "--quick", "--memory", "0.5", "--python", interpreter.COLD
    )
    assert document["runs"][0]["outcome"] in ("stopped", "fails"), document
    assert document["status"] in ("cannot_judge", "different")
    assert code == (125 if document["status"] == "cannot_judge" else 0)

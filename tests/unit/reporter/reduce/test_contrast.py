"""Fails here, passes there: what is said when it does not, and which release makes it a
regression.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from reporter.core.answer import Answer
from reporter.core.candidate import make_matcher
from reporter.core.errors import UsageError
from reporter.core.kinds import Kind, Layer
from reporter.core.signature import Signature
from reporter.execution.interpreter import InterpreterInfo
from reporter.reduce.contrast import ContrastInterpreter, Refusals
from reporter.report.captured_call import (
    CapturedCall,
    CapturedVerdict,
    ProgramMaterial,
    Surroundings,
)
from reporter.report.sections.base import build_section
from reporter.report.sections.finished_repro import ContrastSection
from templates.description import describe_difference
from tests.support import outgoing_data as data

WANTED = Signature(Kind.CRASH, exception="KeyError", message="no layout")
SAME = Answer("fails", {"exception": "KeyError", "first_line": "no layout", "message": "no layout"})
OTHER = Answer("fails", {"exception": "IndexError", "first_line": "7", "message": "7"})
UNKNOWN = Answer("cannot_judge", stdout="eager fails here: no such operator\n", exit=125)
DIED = Answer("died", signal="SIGSEGV", exit=-11)


def place(torch: str) -> ContrastInterpreter:
    info = InterpreterInfo(Path(f"/env/{torch}"), "3.11.7", torch, None, False, "/env")
    return ContrastInterpreter(info, None, Path())  # type: ignore[arg-type]  # nothing is run


SENTENCES: list[tuple[list[Answer], str]] = [
    ([OTHER, SAME, UNKNOWN], "fails under torch 2.6.0 too: KeyError: no layout (/env/2.6.0), so "),
    ([UNKNOWN, OTHER], "fails under torch 2.6.0 too: IndexError: 7 "),
    ([UNKNOWN, DIED], "fails under torch 2.6.0 too: SIGSEGV "),
    ([Answer("timeout")], "fails under torch 2.6.0 too: no end in time "),
    ([UNKNOWN], "cannot be judged under torch 2.6.0: eager fails here: no such operator "),
    ([Answer("cannot_judge")], "cannot be judged under torch 2.6.0: exit code 125 "),
]


@pytest.mark.parametrize(("answers", "said"), SENTENCES)
def test_why_nothing_differs(answers: list[Answer], said: str) -> None:
    contrasts = [place("2.0.1"), place("2.6.0")]
    refusals = Refusals(contrasts, make_matcher(WANTED))
    assert refusals.explain() is None
    for answer in answers:
        refusals.add(contrasts[1].name, "text", answer)
    sentence = refusals.explain() or ""
    assert said in sentence and "leave out --differs-from" in sentence
    assert "\n" not in sentence


def test_only_a_pass_is_a_pass() -> None:
    test = place("2.6.0").test
    assert test.judge(Answer("passes"))
    assert not any(test.judge(answer) for answer in (SAME, OTHER, UNKNOWN, DIED))


def row(torch: str, python: str = "3.11.7") -> dict[str, str]:
    return {"torch": torch, "python": python, "outcome": "passes"}


WORDS: list[tuple[list[dict[str, str]], str, str]] = [
    ([row("2.6.0")], "Regression", "passes on torch 2.6.0 (same repro)"),
    ([row("2.15.0")], "Difference", "passes on the later torch 2.15.0 (same repro)"),
    (
        [row("2.6.0"), row("2.15.0")],
        "Regression",
        "passes on torch 2.6.0 and the later torch 2.15.0 (same repro)",
    ),
    ([row("2.13.0", "3.9.1")], "Difference", "passes on torch 2.13.0 with Python 3.9.1"),
]


@pytest.mark.parametrize(("rows", "word", "said"), WORDS)
def test_the_documents_say_where_it_passes(
    rows: list[dict[str, str]], word: str, said: str
) -> None:
    others = tuple(build_section(ContrastSection, row) for row in rows)
    report = structs.replace(data.crash_report(), torch="2.13.0", differs_from=others)
    document = report.to_json()
    assert document["differs_from"] == rows
    assert describe_difference(document)[0] == word and said in describe_difference(document)[1]
    files = data.files(report, data.text(data.CRASH), "")
    assert f"- **{word}**: fails on torch 2.13.0, {said}" in files["issue.md"]
    assert said in files["report.html"]


def test_without_another_interpreter_nothing_is_said_of_it() -> None:
    report = data.crash_report()
    assert "differs_from" not in report.to_json()
    assert "same repro" not in data.files(report, data.text(data.CRASH), "")["issue.md"]


def test_a_recording_remembers_the_other_interpreters(tmp_path: Path) -> None:
    captured = CapturedCall(
        CapturedVerdict(Kind.CRASH, Layer.INDUCTOR, "", True, WANTED),
        ProgramMaterial(),
        Surroundings("/a/python", differs_from=("/b/python",)),
    )
    captured.save(tmp_path / "recording.json")
    assert CapturedCall.load(tmp_path / "recording.json") == captured


def test_a_recording_of_another_version_is_refused(tmp_path: Path) -> None:
    recording = tmp_path / "private" / "recording.json"
    recording.parent.mkdir()
    for text in ('{"version": 3, "kind": "crash"}', '{"version": 4, "call": {}}', "{", ""):
        recording.write_text(text)
        with pytest.raises(UsageError, match="start anew without --resume"):
            CapturedCall.load(recording)

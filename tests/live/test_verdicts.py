"""From a program to its verdict with a real torch: one program for each kind and layer, and all of
them as the matrix.

`make test-matrix` (`-m matrix`) asks torch about every program of the table, holds the verdict
against it and writes the recordings anew that tests/unit/reporter/diagnose/test_verdicts.py judges
without torch.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reporter.cli.main import run
from reporter.recording import questions
from tests.support import interpreter, recorded_answers, verdict_table
from tests.support.verdict_table import CASES, LIMIT, judged, watched


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.live])
def test_torch_answers_so_that_the_verdict_is_that_of_the_table(name: str, tmp_path: Path) -> None:
    recording = watched(name, tmp_path)
    try:
        found = recorded_answers.outcome(recording, judged)
    finally:
        recording.close()
    assert CASES[name].mistake_in(found) == ""


@pytest.mark.matrix
@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_the_table_and_its_recording_is_made_anew(
    name: str, tmp_path: Path
) -> None:
    recording = watched(name, tmp_path)
    try:
        noting, notes = recorded_answers.noting(recording)
        live = recorded_answers.outcome(noting, judged)
        made = recorded_answers.recorded(name, noting, notes)
    finally:
        recording.close()
    assert CASES[name].mistake_in(live) == ""
    made.diagnosis = recorded_answers.outcome(made.recording(), judged)
    for part in ("kind", "layer", "is_bug", "cited", "reproduced", "place"):
        assert made.diagnosis.get(part) == live.get(part)
    made.save()


def test_a_late_call_of_a_failing_script_is_looked_at_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(verdict_table.file_of("late_call"), tmp_path / "late.py")
    python = str(interpreter.WARM)
    run(["diagnose", "--json", "--no-input", "--python", python, str(tmp_path / "late.py")])
    shown = capsys.readouterr()
    found = json.loads(shown.out)["verdict"]
    assert (found["kind"], found["layer"]) == ("wrong_result", "backend"), shown.err
    assert "once more, all of them" in shown.err


def test_an_assertion_that_fails_without_the_compiler_is_no_rounding_of_eager_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # the compiled call differs by rounding, and the script's own operators magnify some
    script = verdict_table.scripts.script("verdicts/weights_moved_before_the_comparison")
    run(["diagnose", "--json", "--no-input", "--python", str(interpreter.WARM), str(script)])
    shown = capsys.readouterr()
    found = json.loads(shown.out)["verdict"]
    assert found["kind"] == "invalid_program", found
    assert "differs from eager by rounding" in found["summary"]


def test_the_kernel_that_a_compiler_refuses_is_named(tmp_path: Path) -> None:
    recording = watched("cpp_compiler_refuses_a_kernel", tmp_path)
    failures = [finding.failure for finding in recording.findings]
    recording.close()
    assert [failure["exception"] for failure in failures if failure] == ["CppCompileError"]
    (kernel,) = failures[0]["kernels"] if failures[0] else ()
    assert "_relu_" in kernel and "cumsum" not in kernel


@pytest.mark.parametrize(
    ("name", "drawn"), [("attention_without_dropout", False), ("attention_with_dropout", True)]
)
def test_attention_draws_random_numbers_for_its_dropout_only(
    name: str, drawn: bool, tmp_path: Path
) -> None:
    recording = watched(name, tmp_path)
    probe = questions.run({"how": "probe", "snapshot": str(recording.folder / "probe.pt")})
    answer = recording.findings[0].call_session.request(probe, LIMIT)
    recording.close()
    assert bool(answer["facts"]["random"]) is drawn


def test_every_kind_and_every_layer_is_asked_of_torch_by_default() -> None:
    live = [case for case in CASES.values() if case.live]
    assert {case.kind for case in live} == {case.kind for case in CASES.values()} - {
        "precision_cast"  # takes a C++ compiler twice
    }
    assert {case.layer for case in live} == {case.layer for case in CASES.values()}
    assert all(verdict_table.file_of(name).exists() for name in CASES)

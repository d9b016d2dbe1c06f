"""From a script with a kernel of its own to a report, with the answers that Triton 3.9.0 once gave
(`tests/support/recorded_triton.py`): no process here has torch or Triton.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.core.progress import PlainProgress
from reporter.core.settings import Options
from reporter.execution.interpreter import InterpreterInfo
from reporter.pipeline import triton_program
from reporter.pipeline.run import Interpreters
from templates.kernel import TARGETS
from tests.support.created import command
from tests.support.recorded_triton import SCRIPTS, answering

FILES = {"report.json", "issue.md", "repro.py", "test_repro.py", "report.html"}
Json = dict[str, Any]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU runs kernels on it, and asks other questions."""
    monkeypatch.setattr(triton_program, "has_gpu", lambda: False)


@pytest.fixture
def told(tmp_path: Path) -> Run:
    """A command on a script of `tests/data/kernels`; `edit` makes other answers of the notes."""

    def run(
        verb: str, name: str, *options: str, edit: Callable[[str, Json], Json] | None = None
    ) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "script.py"
        script.write_text((SCRIPTS / f"{name}.py").read_text())
        python = answering(name, tmp_path, edit=edit)
        words = [verb, "--json", "--no-input", "--python", python, *options, script]
        return command(*words, cwd=tmp_path)

    return run


def test_a_bug_of_the_compiler_becomes_a_report_in_public_names(told: Run, tmp_path: Path) -> None:
    done = told("create", "fp8_sum", "-o", str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"]["kind"], document["verdict"]["layer"]) == ("crash", "triton")
    assert document["verdict"]["reproduced"] == [3, 3] and document["audit"]["passed"]
    assert document["test"]["fails_here"] and document["labels"] == ["bug"]
    assert {row["rung"]: row["outcome"] for row in document["ladder"]} == dict.fromkeys(
        TARGETS, "raises"
    )
    assert document["repro"]["statements"] == 2
    report = tmp_path / "report"
    assert {path.name for path in report.iterdir()} == {*FILES, "private"}
    for name in FILES:
        text = (report / name).read_text().lower()
        assert not [word for word in ("quorum", "ledger", "tally") if word in text], name
    # the way back to the private names stays here
    mapping = json.loads((report / "private" / "mapping.json").read_text())
    assert {"quorum_kernel", "ledger_ptr", "tally_ptr"} <= set(mapping["names"].values())


def test_the_same_failure_of_another_kernel_has_the_same_fingerprint(
    told: Run, tmp_path: Path
) -> None:
    """It is made of the pass and of the compiler's words, and not of the kernel."""
    document = json.loads(told("create", "fp8_sum", "-o", str(tmp_path / "report")).stdout)
    parts = document["fingerprint"]["parts"]
    assert parts[:4] == ["triton", "crash", "RuntimeError", "ConvertTritonGPUToLLVM"]
    assert not any("kernel1" in part or "script" in part for part in parts)


def test_a_right_kernel_is_no_bug_and_every_target_is_listed(told: Run) -> None:
    done = told("diagnose", "right")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["verdict"]["kind"], document["verdict"]["is_bug"]) == ("not_reproduced", False)
    rungs = {row["rung"]: row["outcome"] for row in document["ladder"]}
    assert rungs == {"interpreter": "ok", **dict.fromkeys(TARGETS, "ok")}


def test_a_bug_of_one_target_is_told_with_that_target(told: Run) -> None:
    done = told("diagnose", "float_atomic_and")
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["device"] == "gfx942"
    rungs = {row["rung"]: row["outcome"] for row in document["ladder"]}
    assert [rungs[name] for name in TARGETS] == ["ok", "ok", "ok", "raises"]
    assert "verdict: crash in triton (bug)" in done.stderr


def _no_triton(ask: str, note: Json) -> Json:
    return {**note, "answer": {"missing": True, "skipped": "none"}} if ask == "compile" else note


def _compiles_in_public_names(ask: str, note: Json) -> Json:
    right = {"outcome": "ok", "message": ""}
    return {**note, "answer": {"answers": [right] * 99}} if ask == "candidates" else note


def _ends_well(ask: str, note: Json) -> Json:
    return {**note, "exit": 0, "stderr": ""} if ask == "program" else note


def _fails_otherwise(ask: str, note: Json) -> Json:
    return {**note, "stderr": "MemoryError"} if ask == "program" else note


def _says_nothing(ask: str, note: Json) -> Json:
    return {**note, "answer": {}} if ask == "candidates" else note


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_compiles_in_public_names, "in public names does not fail in the same way"),
        (_says_nothing, "in public names does not fail in the same way"),
        (_ends_well, "fails in none of 3 fresh processes"),
        (_fails_otherwise, "fails in none of 3 fresh processes"),
    ],
)
def test_what_was_not_seen_in_the_end_is_not_reported(
    edit: Callable[[str, Json], Json], says: str, told: Run, tmp_path: Path
) -> None:
    done = told("create", "fp8_sum", "-o", str(tmp_path / "report"), edit=edit)
    assert done.returncode == 125, done.stderr
    assert "No repro: the " in done.stderr and says in done.stderr, done.stderr
    assert not (tmp_path / "report").exists()
    # the verdict stands without a repro
    document = json.loads(done.stdout)
    assert (document["verdict"]["kind"], document["verdict"]["is_bug"]) == ("crash", True)
    assert "verdict: crash in triton (bug)" in done.stderr and "repro" not in document


def test_without_triton_there_is_no_verdict(told: Run, tmp_path: Path) -> None:
    done = told("create", "fp8_sum", "-o", str(tmp_path / "report"), edit=_no_triton)
    assert done.returncode == 125 and "there is no Triton in" in done.stderr, done.stderr
    assert set(json.loads(done.stdout)) == {"schema_version", "error"}
    assert not (tmp_path / "report").exists()


def test_a_repro_that_fails_two_times_of_three_says_so(told: Run, tmp_path: Path) -> None:
    """The third fresh process ends well."""
    seen = tmp_path / "seen"

    def edit(ask: str, note: Json) -> Json:
        return {**note, "fails": 2, "seen": str(seen)} if ask == "program" else note

    done = told("create", "fp8_sum", "-o", str(tmp_path / "report"), edit=edit)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"]["reproduced"] == [2, 3] and not document["test"]["fails_here"]


#: An interpreter whose answer is that there is no Triton.
WITHOUT_TRITON = f"""#!{sys.executable} -IS
import json, sys
with open(sys.argv[2], encoding="utf-8") as source:
    place = json.load(source)["answer"]
with open(place, "w", encoding="utf-8") as answer:
    json.dump({{"missing": True, "skipped": "none"}}, answer)
"""


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import triton\n", True),
        ("from triton.language import load\n", True),
        ("try:\n    import triton\nexcept ImportError:\n    pass\n", False),
        ("import tritonclient\n", False),
        ("def (", False),
    ],
)
def test_triton_is_needed_where_nothing_catches_that_it_is_missing(
    source: str, needs: bool, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(source)
    python = tmp_path / "python"
    python.write_text(WITHOUT_TRITON)
    python.chmod(0o755)
    info = InterpreterInfo(python, "3.11.7", "2.13.0", None, False, "/x")
    run = SimpleNamespace(
        options=Options(script=Path("script.py"), cwd=tmp_path),
        progress=PlainProgress(),
        interpreters=Interpreters(info),
    )
    program = triton_program.TritonProgram(run)  # type: ignore[arg-type]
    if needs:
        with pytest.raises(CannotJudgeError, match="there is no Triton in"):
            program.record()
    else:
        assert program.record() is None

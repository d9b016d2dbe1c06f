"""The order of a triage, with runs and verdicts that are given."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.core.kinds import Kind, Layer
from reporter.execution.interpreter import InterpreterInfo
from reporter.sandbox import SandboxResult
from reporter.triage import triage as module
from reporter.triage.attempt import Attempt, Attempts, RunLimits, _build_attempt
from reporter.triage.reading.stated_failure import StatedFailure
from reporter.triage.reading.thread import Post, Thread
from reporter.triage.result import Triage
from reporter.triage.sandboxed_verdict import CommandRepro, CommandVerdict, FailureMarks, read
from reporter.triage.triage import TriageRequest, find_missing_modules, triage
from tests.support.github.submitter import RecordedPrompt

HERE = InterpreterInfo(Path(sys.executable), "3.11.7", "2.13.0", None, False, sys.prefix)
PASSES = Attempts("2.13.0", "3.11.7", (Attempt("passes", None, "", "", 1.0, exit=0),))  # type: ignore[arg-type]
CRASH = CommandVerdict(Kind.CRASH, Layer.INDUCTOR)


def failed(match: str, failure: str) -> Attempts:
    attempt = Attempt("fails", match, failure, "", 1.0, exit=1)  # type: ignore[arg-type]
    return Attempts("2.13.0", "3.11.7", (attempt,))


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a run shows, and what the tool says of the program; both can be given anew. Without the
    compiler it passes.
    """

    def run(
        info: object, text: str, says: StatedFailure, *given: object, compiled: bool = True
    ) -> object:
        if text == REDUCED:
            ended = SandboxResult("exited", 1, None, "", str(facts["reduced"]), 1.0)
            return Attempts("2.13.0", "3.11.7", (_build_attempt(ended, says, ()),))
        return facts["run"] if compiled else PASSES

    facts: dict[str, object] = {"run": failed("same", "X: y"), "verdict": CRASH}
    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "judge", lambda *given: facts["verdict"])
    return facts


REDUCED = "import torch\n\ntorch.compile(torch.sin)(torch.ones(1))\n"
LOWERING = FailureMarks(
    exception="LoweringException", message="AssertionError: | target: aten._foobar.default"
)


def triaged(program: str, title: str = "It fails") -> Triage:
    text = f"```python\nimport torch\n{program}\n```\n"
    wanted = TriageRequest(RunLimits(60, 4, 1, trust=True), (HERE,), quick=True)
    return triage(Thread("x.md", title, (Post("kim", text),)), wanted, RecordedPrompt())


ON_CUDA = "torch.compile(torch.sin)(torch.ones(2, device='cuda'))"


@pytest.mark.parametrize(
    ("match", "status"), [("same", "reproduces"), ("unclear", "not_actionable")]
)
def test_on_the_cpu_only_a_failure_as_stated_counts(
    match: str, status: str, given: dict[str, object]
) -> None:
    given["run"] = failed(match, "X: y")
    result = triaged(ON_CUDA)
    assert result.status == status
    assert result.repro is not None and "moved from cuda to the CPU" in result.repro.changes


@pytest.mark.parametrize(
    "failure",
    [
        "AssertionError: Torch not compiled with CUDA enabled",
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have one",
        "RuntimeError: No CUDA GPUs are available",
    ],
)
def test_a_device_that_only_the_run_asks_for_is_lacking(
    failure: str, given: dict[str, object]
) -> None:
    given["run"] = failed("unclear", failure)
    given["verdict"] = CommandVerdict(Kind.INVALID_PROGRAM, Layer.EAGER)
    result = triaged("torch.compile(torch.sin)(torch.ones(2, device=0))")
    assert (result.status, result.refusal and result.refusal.kind) == (
        "not_actionable",
        "needs_hardware",
    )
    assert failure in result.sentence and result.judged is None and not result.comment


OWN = '  File "/x/repro.py", line 3, in <module>\n    f()\n'


@pytest.mark.parametrize(
    ("kind", "stderr", "is_confirmed"),
    [
        ("crash", "LoweringException: AssertionError: \n  target: aten._foobar.default", True),
        ("crash", "InductorError: LoweringException: AssertionError: \n  target: aten._foobar.default", True),
        ("crash", "ImportError: cannot import name 'foobar' from 'torch'", False),
        ("crash", "SyntaxError: '(' was never closed", False),
        ("crash", "LoweringException: RuntimeError: another kernel is missing", False),
        ("wrong_result", f"{OWN}AssertionError: Tensor-likes are not close!", True),
        ("wrong_result", "AttributeError: module 'torch' has no attribute 'foobar'", False),
        ("process_death", "RuntimeError: no kernel", False),
        ("rounding", f"{OWN}AssertionError: Tensor-likes are not close!", False),
    ],
)  # fmt: skip
def test_a_reduced_program_is_confirmed_by_the_judged_failure(
    kind: str, stderr: str, is_confirmed: bool, given: dict[str, object]
) -> None:
    given["verdict"] = CommandVerdict(
        Kind(kind), Layer.INDUCTOR, marks=LOWERING, repro=CommandRepro(REDUCED)
    )
    given["reduced"] = stderr
    minimal = triaged("torch.compile(torch.sin)(torch.ones(2))").minimal
    assert (minimal is not None) is is_confirmed
    assert minimal is None or minimal.seen == {"2.13.0": "fails"}


def test_a_reduced_program_that_was_cut_is_none() -> None:
    document = {"verdict": {"kind": "crash", "layer": "inductor"}, "repro": {"statements": 1}}
    for text, wanted in (("é" * 10_000, "é" * 10_000), ("é" * 10_001, "")):
        answer = {"document": document, "files": {"repro.py": text}}
        assert read(answer).repro.text == wanted


def test_packages_are_looked_for_where_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_this_shell.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    modules = ("torch", "of_this_shell", "json", "no_such_package")
    wanted = ["of_this_shell", "no_such_package"]
    assert find_missing_modules(HERE, modules, trusted=True) == wanted
    broken = replace(HERE, path=Path("/bin/false"))
    with pytest.raises(UsageError, match="/bin/false"):
        find_missing_modules(broken, modules, trusted=True)

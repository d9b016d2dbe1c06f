"""Inductor's own Triton kernels: read from its output code, and compiled for GPUs that need not be there."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.kernels.ask import ask
from reporter.kernels.generated import failing_repro, of_repro
from templates.kernel import generated as sentence

DATA = Path(__file__).parent / "data" / "evidence"
COLLECTORS = Path(__file__).parents[1] / "collectors"


@pytest.fixture(scope="module")
def described() -> Callable[[str, str], dict[str, Any]]:
    """The collector's reader of generated texts; the host may not import its package by name."""
    package = types.ModuleType("_collectors_of_generated")
    package.__path__ = [str(COLLECTORS)]
    sys.modules[package.__name__] = package
    found: Callable[[str, str], dict[str, Any]] = importlib.import_module(
        f"{package.__name__}.kernels.generated"
    ).described
    return found


def test_what_inductor_says_of_a_kernel(described: Callable[[str, str], dict[str, Any]]) -> None:
    row = described("triton_per_fused_cumsum_0", (DATA / "generated_new.py").read_text())
    assert row["kernel"] == "triton_per_fused_cumsum_0"
    assert row["signature"] == {
        "in_ptr0": "*fp32",
        "out_ptr1": "*bf16",
        "xnumel": "i32",
        "r0_numel": "i32",
        "XBLOCK": "constexpr",
    }
    assert row["aligned"] == ["in_ptr0", "xnumel"]
    # 256 elements of the other dimension leave room for 4 of this one
    assert row["constexprs"] == {"XBLOCK": 4} and row["heuristics"] == "persistent_reduction"
    assert "set_driver_to_cpu" not in row["text"] and "triton_heuristics." not in row["text"]
    assert row["text"].count("@triton.jit") == 2 and "libdevice" in row["text"]


def test_the_form_of_older_releases(described: Callable[[str, str], dict[str, Any]]) -> None:
    row = described("triton_red_fused_sum_0", (DATA / "generated_old.py").read_text())
    assert row["aligned"] == ["in_out_ptr0", "rnumel"] and "AttrsDescriptor" not in row["text"]
    assert row["constexprs"] == {"XBLOCK": 8, "RBLOCK": 64}


def test_what_is_no_generated_kernel_is_left_alone(
    described: Callable[[str, str], dict[str, Any]],
) -> None:
    assert described("k", "import triton\n@triton.jit\ndef k(p):\n    pass\n") is None


def test_an_issue_speaks_of_kernels_that_do_not_compile_and_of_no_others() -> None:
    row: dict[str, Any] = {
        "kernel": "triton_poi_fused_0",
        "targets": {"cuda:80": "ok", "gfx942": "ok"},
        "errors": {},
    }
    verdict = {"kind": "wrong_result", "exception": None}
    kernels: dict[str, Any] = {"version": "3.9.0", "kernels": [row]}
    report = {"verdict": verdict, "evidence": {"triton_kernels": kernels}}
    assert sentence(report) == [] and sentence({"verdict": verdict}) == []
    row["targets"]["gfx942"] = "raises"
    row["errors"]["gfx942"] = "RuntimeError: PassManager::run failed"
    (told,) = sentence(report)
    assert "`triton_poi_fused_0`" in told and "for gfx942, but for cuda:80" in told
    assert "`RuntimeError: PassManager::run failed`" in told


def test_an_issue_says_what_the_interpreter_shows_of_the_same_failure_only() -> None:
    def told(kind: str, exception: str | None, answer: dict[str, Any]) -> list[str]:
        return sentence(
            {
                "verdict": {"kind": kind, "exception": exception},
                "evidence": {"triton_kernels": {"version": "3.9.0", "interpreter": answer}},
            }
        )

    (passes,) = told("wrong_result", None, {"outcome": "passes", "launched": 1})
    assert "the repro passes" in passes and "C++ alone" in passes and "Triton 3.9.0" in passes
    wrong = {"outcome": "fails", "exception": "AssertionError", "message": "max error 0.5"}
    (fails,) = told("wrong_result", None, wrong)
    assert "fails too" in fails and "`AssertionError: max error 0.5`" in fails
    # a crash is another one if its class is
    assert told("crash", "InductorError", wrong) == []
    assert told("crash", "AssertionError", wrong) != []
    assert told("wrong_result", None, {"skipped": "no answer within 9 s"}) == []


REPRO = """
import torch

def repro(x):
    return torch.softmax(x.sin() + 1, -1), torch.where(x > 0, x, -x).cumsum(0)

x = torch.randn(64, 133)
for actual, expected in zip(torch.compile(repro)(x), repro(x)):
    torch.testing.assert_close(actual, expected)
"""

#: With inductor's own switch for a wrong relu, in the code it writes for one language.
WRONG = """
import torch
import torch._inductor.config

torch._inductor.config.{language}.inject_relu_bug_TESTING_ONLY = "accuracy"

def repro(x):
    return torch.relu(x).sum(1)

x = torch.randn(64, 133)
torch.testing.assert_close(torch.compile(repro)(x), repro(x))
"""


@pytest.mark.releases
@pytest.mark.parametrize(("name", "targets"), [("v26", 2), ("v215", 4)])
def test_on_a_release(
    name: str, targets: int, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    found = of_repro(release_python(name), REPRO, 500, tmp_path / "kept")
    assert len(found["kernels"]) == 2, found
    for row in found["kernels"]:
        assert set(row["targets"].values()) == {"ok"} and len(row["targets"]) == targets
        assert row["arguments"]["in_ptr0"]["shape"] == [64, 133]
    assert len(list((tmp_path / "kept").glob("triton_*.py"))) == 2
    # Triton 3.2.0 cannot interpret what inductor writes for a cumulative sum
    answer = {"v26": "skipped", "v215": "outcome"}[name]
    assert answer in found["interpreter"], found["interpreter"]
    assert found["interpreter"].get("outcome") in (None, "passes")


@pytest.mark.releases
@pytest.mark.parametrize("name", ["v26", "v215"])
@pytest.mark.parametrize(("language", "outcome"), [("cpp", "passes"), ("triton", "fails")])
def test_the_interpreter_tells_whether_a_fault_is_of_one_language(
    name: str, language: str, outcome: str, release_python: Callable[[str], Path]
) -> None:
    found = of_repro(release_python(name), WRONG.format(language=language), 500)["interpreter"]
    assert found["outcome"] == outcome and found["launched"] == 1, found
    if outcome == "fails":
        assert found["exception"] == "AssertionError" and "not close" in found["message"]


@pytest.mark.releases
@pytest.mark.parametrize("name", ["v26", "v215"])
@pytest.mark.parametrize(
    "call",
    [
        "torch.erf(x).tanh() + torch.lgamma(x.abs() + 1)",
        "torch.atan2(x, x + 1) * torch.expm1(x).isnan().logical_not()",
        "torch.round(x), torch.floor(x), torch.fmod(x, 0.3), torch.nextafter(x, x + 1)",
        "x.amax(1), x.argmin(0), x.std(), torch.softmax(x, -1)",
        "x.abs().to(torch.uint8) + 1, (x * 100).int() // 7, x.to(torch.float64) * 2",
        "torch.nn.functional.pad(x, (1, 2)), torch.cat([x, x + 1]), x[torch.arange(3, 9)]",
    ],
)
def test_what_the_interpreter_computes_is_what_eager_does(
    name: str, call: str, release_python: Callable[[str], Path]
) -> None:
    text = REPRO.replace(
        REPRO[REPRO.index("    return") : REPRO.index("\n\nx =")], f"    return ({call},)"
    )
    found = of_repro(release_python(name), text, 500)["interpreter"]
    assert found.get("outcome") == "passes", found


@pytest.mark.releases
def test_a_kernel_that_does_not_compile_becomes_a_program_of_its_own(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """No kernel that inductor writes is known to fail, so one that does stands for it."""
    python, script = release_python("v215"), DATA.parent / "kernels" / "float_atomic_and.py"
    (launch,) = ask(python, {"what": "compile", "script": str(script)}, tmp_path, 500)["launches"]
    tree = ast.parse(script.read_text())
    tree.body = tree.body[:4]  # the imports and the kernel
    repro = failing_repro({**launch, "text": ast.unparse(tree)})
    assert repro is not None and "gfx942" in repro
    (tmp_path / "repro.py").write_text(repro)
    done = subprocess.run(
        [python, "repro.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1 and "PassManager::run failed" in done.stderr, done.stderr[-2000:]
    fine = [{**item, "outcome": "ok"} for item in launch["targets"]]
    assert failing_repro({**launch, "targets": fine}) is None


@pytest.mark.releases
@pytest.mark.parametrize("name", ["v20", "v213"])
def test_where_there_is_none_to_be_had(name: str, release_python: Callable[[str], Path]) -> None:
    assert of_repro(release_python(name), REPRO, 500)["skipped"]

"""Inductor's own Triton kernels: compiled for GPUs that need not be there, and run in Triton's
interpreter.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.kernels.inductor_kernels import compile_kernels, write_failing_repro
from reporter.kernels.questions import ask
from tests.support.places import DATA
from tests.support.scripts import text

REPRO = text("generated_kernels/softmax_and_cumsum")


@pytest.mark.parametrize(("name", "targets"), [("v26", 2), ("v215", 4)])
def test_every_kernel_of_a_repro_is_compiled_for_every_target(
    name: str, targets: int, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    found = compile_kernels(release_python(name), REPRO, 500, tmp_path / "kept").to_json()
    assert len(found["kernels"]) == 2, found
    for row in found["kernels"]:
        assert set(row["targets"].values()) == {"ok"} and len(row["targets"]) == targets
        assert row["arguments"]["in_ptr0"]["shape"] == [64, 133]
    assert len(list((tmp_path / "kept").glob("triton_*.py"))) == 2
    # Triton 3.2.0 cannot interpret what inductor writes for a cumulative sum
    answer = {"v26": "skipped", "v215": "outcome"}[name]
    assert answer in found["interpreter"], found["interpreter"]
    assert found["interpreter"].get("outcome") in (None, "passes")


@pytest.mark.parametrize("name", ["v26", "v215"])
@pytest.mark.parametrize(("language", "outcome"), [("cpp", "passes"), ("triton", "fails")])
def test_the_interpreter_tells_whether_a_fault_is_of_one_language(
    name: str, language: str, outcome: str, release_python: Callable[[str], Path]
) -> None:
    found = compile_kernels(
        release_python(name), text(f"generated_kernels/relu_wrong_in_{language}"), 500
    ).to_json()["interpreter"]
    assert found["outcome"] == outcome and found["launched"] == 1, found
    if outcome == "fails":
        assert found["exception"] == "AssertionError" and "not close" in found["message"]


@pytest.mark.parametrize("name", ["v26", "v215"])
@pytest.mark.parametrize(
    "script",
    [
        "special_functions",
        "atan2_and_expm1",
        "rounding",
        "reductions",
        "other_types",
        "pad_cat_index",
    ],
)
def test_what_the_interpreter_computes_is_what_eager_does(
    name: str, script: str, release_python: Callable[[str], Path]
) -> None:
    script_text = text(f"generated_kernels/{script}")
    found = compile_kernels(release_python(name), script_text, 500).to_json()["interpreter"]
    assert found.get("outcome") == "passes", found


def test_a_kernel_that_does_not_compile_becomes_a_program_of_its_own(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """No kernel that inductor writes is known to fail, so one that does stands for it."""
    python, script = release_python("v215"), DATA / "kernels" / "float_atomic_and.py"
    (launch,) = ask(python, {"what": "compile", "script": str(script)}, tmp_path, 500)["launches"]
    tree = ast.parse(script.read_text())
    tree.body = tree.body[:4]  # the imports and the kernel
    repro = write_failing_repro({**launch, "text": ast.unparse(tree)})
    assert repro is not None and "gfx942" in repro
    (tmp_path / "repro.py").write_text(repro)
    done = subprocess.run(
        [python, "repro.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1 and "PassManager::run failed" in done.stderr, done.stderr[-2000:]
    fine = [{**item, "outcome": "ok"} for item in launch["targets"]]
    assert write_failing_repro({**launch, "targets": fine}) is None


@pytest.mark.parametrize("name", ["v20", "v213"])
def test_a_torch_without_triton_is_passed_over_with_a_reason(
    name: str, release_python: Callable[[str], Path]
) -> None:
    assert compile_kernels(release_python(name), REPRO, 500).to_json()["skipped"]

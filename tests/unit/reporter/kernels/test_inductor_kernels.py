"""What is reported and what is kept of the kernels that inductor writes, with an interpreter whose
answer a test gives.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from reporter.kernels import inductor_kernels
from reporter.kernels.inductor_kernels import compile_kernels, write_failing_repro
from templates.kernel import TARGETS

KERNEL = """\
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    tl.store(out_ptr0 + xindex, tl.load(in_ptr0 + xindex, xindex < xnumel), xindex < xnumel)
"""
_PYTHON = """\
#!{python} -IS
import json, sys
spec = json.load(open(sys.argv[2]))
assert "import torch" in open(spec["script"]).read()
json.dump(json.load(open({answers!r}))[spec["what"]], open(spec["answer"], "w"))
"""


def target(name: str, outcome: str = "ok", **more: Any) -> dict[str, Any]:
    return {"target": name, "outcome": outcome, "message": "", "seconds": 0.1, **more}


def launch(*targets: dict[str, Any]) -> dict[str, Any]:
    """One launch of the kernel, as the target describes it."""
    return {
        "kernel": "triton_poi_fused_add_0",
        "text": f"import triton\nimport triton.language as tl\n\n{KERNEL}",
        "heuristics": "pointwise",
        "signature": {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32"},
        "constexprs": {"XBLOCK": 128},
        "aligned": ["in_ptr0", "out_ptr0", "xnumel"],
        "options": {"num_warps": 4},
        "targets": list(targets),
    }


BROKEN = launch(
    target("cuda:80"), target("gfx942", "raises", exception="RuntimeError", message="no such type")
)
RIGHT = launch(*(target(name) for name in TARGETS))


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inductor_kernels, "has_gpu", lambda: False)


def told(folder: Path, keep: Path | None = None, **answers: Any) -> Any:
    """What is reported where `compiled` and `interpreted` are answered so."""
    known = {
        "generated": answers["compiled"],
        "interpret generated": answers.get("interpreted", {}),
    }
    (folder / "answers.json").write_text(json.dumps(known))
    python = folder / "python"
    python.write_text(_PYTHON.format(python=sys.executable, answers=str(folder / "answers.json")))
    python.chmod(0o755)
    return compile_kernels(python, "import torch\n", 60, keep).to_json()


def test_each_kernel_is_reported_with_its_outcome_for_each_target(tmp_path: Path) -> None:
    compiled = {"triton": "3.9.0", "launches": [BROKEN], "unsupported": {"cuda:100": "too new"}}
    found = told(tmp_path, compiled=compiled, interpreted={"outcome": "passes"})
    (row,) = found["kernels"]
    assert row["targets"] == {"cuda:80": "ok", "gfx942": "raises"}
    assert row["errors"] == {"gfx942": "RuntimeError: no such type"}
    assert "text" not in row  # which is private
    assert (found["version"], found["interpreter"]) == ("3.9.0", {"outcome": "passes"})
    assert found["unsupported"] == {"cuda:100": "too new"}


@pytest.mark.parametrize(
    ("compiled", "says"),
    [
        ({"missing": True, "skipped": "there is no Triton in this interpreter"}, "no Triton in"),
        ({"launches": []}, "inductor wrote no Triton kernel"),
    ],
)
def test_without_a_kernel_the_reason_is_all(
    compiled: dict[str, Any], says: str, tmp_path: Path
) -> None:
    found = told(tmp_path, tmp_path / "kept", compiled=compiled)
    assert list(found) == ["skipped"] and says in found["skipped"]
    assert not (tmp_path / "kept").exists()


def test_where_there_is_a_gpu_no_interpreter_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inductor_kernels, "has_gpu", lambda: True)
    found = told(tmp_path, compiled={"triton": "3.9.0", "launches": [RIGHT]})
    assert found["interpreter"] == {"skipped": "there is a GPU"}


def test_the_texts_are_kept_where_nobody_else_reads_and_a_broken_one_as_a_program(
    tmp_path: Path,
) -> None:
    keep = tmp_path / "kept"
    second = {**RIGHT, "kernel": "triton_right_1"}
    told(tmp_path, keep, compiled={"triton": "3.9.0", "launches": [BROKEN, second]})
    assert {path.name for path in keep.iterdir()} == {
        "triton_poi_fused_add_0.py",
        "triton_poi_fused_add_0_repro.py",
        "triton_right_1.py",
        "kernels.json",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in (keep, *keep.iterdir()))
    assert json.loads((keep / "kernels.json").read_text()) == [BROKEN, second]


def test_a_kernel_that_a_target_cannot_compile_is_a_program_of_its_own() -> None:
    text = write_failing_repro(BROKEN)
    assert text is not None
    tree = ast.parse(text)
    assert "does not compile for gfx942: no such type" in (ast.get_docstring(tree) or "")
    assert 'GPUTarget("hip", "gfx942", 64)' in text and '"XBLOCK": 128' in text
    assert "import torch\n" not in text
    assert write_failing_repro(RIGHT) is None

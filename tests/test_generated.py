"""Inductor's own Triton kernels: read from its output code, and compiled for GPUs that need not be there."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.kernels.generated import of_repro
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
    report = {"evidence": {"triton_kernels": {"version": "3.9.0", "kernels": [row]}}}
    assert sentence(report) == "" and sentence({}) == ""
    row["targets"]["gfx942"] = "raises"
    row["errors"]["gfx942"] = "RuntimeError: PassManager::run failed"
    told = sentence(report)
    assert "`triton_poi_fused_0`" in told and "for gfx942, but for cuda:80" in told
    assert "`RuntimeError: PassManager::run failed`" in told


REPRO = """
import torch

def repro(x):
    return torch.softmax(x.sin() + 1, -1), torch.where(x > 0, x, -x).cumsum(0)

torch.compile(repro)(torch.randn(64, 133))
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


@pytest.mark.releases
@pytest.mark.parametrize("name", ["v20", "v213"])
def test_where_there_is_none_to_be_had(name: str, release_python: Callable[[str], Path]) -> None:
    assert of_repro(release_python(name), REPRO, 500)["skipped"]

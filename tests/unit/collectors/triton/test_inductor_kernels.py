"""Inductor's own Triton kernels, read from its output code."""

from __future__ import annotations

import pytest

from collectors.triton.inductor_kernels import choose_block_sizes, describe
from tests.support.places import DATA

EVIDENCE = DATA / "evidence"


def test_what_inductor_says_of_a_kernel_is_read_from_its_text() -> None:
    row = describe("triton_per_fused_cumsum_0", (EVIDENCE / "generated_new.py").read_text())
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


def test_the_form_of_older_releases_is_read_as_well() -> None:
    row = describe("triton_red_fused_sum_0", (EVIDENCE / "generated_old.py").read_text())
    assert row["aligned"] == ["in_out_ptr0", "rnumel"] and "AttrsDescriptor" not in row["text"]
    assert row["constexprs"] == {"XBLOCK": 8, "RBLOCK": 64}


def test_what_is_no_generated_kernel_is_left_alone() -> None:
    assert describe("k", "import triton\n@triton.jit\ndef k(p):\n    pass\n") is None


@pytest.mark.parametrize(("name", "hint"), [("R0_BLOCK", "r0_"), ("RBLOCK", "r")])
def test_the_block_of_a_reduced_dimension_has_its_hint(name: str, hint: str) -> None:
    sizes = choose_block_sizes(["XBLOCK", name], {"x": 16, hint: 1024}, most=64, elements=1024)
    assert sizes == {"XBLOCK": 16, name: 64}

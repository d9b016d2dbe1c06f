"""Which of inductor's kernels an issue quotes: the one at fault, cut to what matters, or none."""

from __future__ import annotations

import pytest

from reporter.evidence.generated_kernel import GeneratedKernel, choose_kernel_excerpt, read_kernels
from reporter.evidence.interface import Excerpt
from tests.support.places import DATA

ERROR = (
    "/tmp/x/c.cpp:7:30: error: no match\n    7 |     auto tmp2 = tmp1 * tmp3;\n      |      ^~~~\n"
)


@pytest.mark.parametrize(
    ("error", "suspects", "names", "expected"),
    [
        (ERROR, (), ("frexp", "mul"), "cpp_fused_frexp_0"),
        ("", ("relu",), ("frexp", "mul"), "cpp_fused_mul_relu_1"),
        ("", ("exp",), ("frexp", "mul", "exp"), "triton_poi_fused_exp_2"),
        ("", ("mul_relu",), ("frexp", "mul"), "cpp_fused_mul_relu_1"),
        ("", (), ("mul",), "cpp_fused_mul_relu_1"),
        ("", (), ("frexp", "mul"), "there are 2 kernels, and nothing says which of them is wrong"),
        ("", (), (), "inductor generated no kernel"),
        (ERROR, (), ("mul",), "the lines that the C++ compiler refuses are in none of the kernels"),
    ],
)
def test_the_kernel_that_matters_or_none(
    error: str, suspects: tuple[str, ...], names: tuple[str, ...], expected: str
) -> None:
    found = [
        kernel
        for kernel in read_kernels(DATA, ["evidence"])
        if any(f"_{name}_" in kernel.name for name in names)
    ]
    shown = choose_kernel_excerpt(found, error, suspects, gradient=False)
    if isinstance(shown, Excerpt):
        assert f"`{expected}`" in shown.caption and "#include" not in shown.text
    else:
        assert shown == expected


def test_a_long_kernel_is_cut_around_the_line_at_fault() -> None:
    lines = [f"    auto tmp{i} = in_ptr0[{i}] * {i};" for i in range(300)]
    kernel = GeneratedKernel(
        "cpp_fused_0", "cpp", "\n".join(["void kernel()", "{", *lines, "}"]), ""
    )
    shown = choose_kernel_excerpt(
        [kernel], " 212 |     auto tmp210 = in_ptr0[210] * 210;\n", (), gradient=False
    )
    assert isinstance(shown, Excerpt)
    assert len(shown.text.splitlines()) < 40 and lines[210] in shown.text
    assert shown.text.startswith("void kernel()")

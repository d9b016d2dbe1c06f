"""The tensors of a gathered program as expressions that make them anew."""

from __future__ import annotations

from typing import Any

import pytest

from anonymizer.source.objects.tensors import tensor_expression
from tests.support.gathered import handmade


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "torch.randn(2, 6)"),
        ({"requires_grad": True}, "torch.randn(2, 6, requires_grad=True)"),
        ({"stride": [1, 2]}, "torch.randn(6, 2).transpose(0, 1)"),
        ({"stride": [0, 1]}, "torch.randn(1, 6).expand(2, 6)"),
        ({"dtype": "int64", "stats": {"min": 2.0, "max": 9.0, "numel": 12}}, "torch.randint(2, 10, (2, 6))"),
        ({"dtype": "bool", "stats": {"min": 0.0, "max": 1.0, "numel": 12}}, "torch.rand(2, 6) > 0.5"),
        (
            {"dtype": "bool", "stats": {"min": 1.0, "max": 1.0, "numel": 12, "pattern": "constant"}},
            "torch.ones(2, 6, dtype=torch.bool)",
        ),
        ({"is_parameter": True, "requires_grad": True}, "nn.Parameter(torch.randn(2, 6))"),
    ],
)  # fmt: skip
def test_a_tensor_is_made_in_its_layout_dtype_and_range(
    changes: dict[str, Any], expected: str
) -> None:
    assert tensor_expression({**handmade("def f(x): pass")["tensors"]["t0"], **changes}) == expected

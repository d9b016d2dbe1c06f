"""The tensors of a gathered program as expressions that make them anew."""

from __future__ import annotations

from typing import Any

import pytest

from anonymizer.source.objects.tensors import (
    ValueLevel,
    write_flat_storage,
    write_tensor,
    write_view,
)
from tests.support.gathered import handmade


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "torch.randn(2, 6)"),
        ({"requires_grad": True}, "torch.randn(2, 6, requires_grad=True)"),
        ({"stride": [1, 2]}, "torch.randn(6, 2).transpose(0, 1)"),
        ({"stride": [0, 1]}, "torch.randn(1, 6).expand(2, 6)"),
        (
            {"dtype": "int64", "stats": {"min": 2.0, "max": 9.0, "numel": 12}},
            "torch.randint(2, 10, (2, 6))",
        ),
        (
            {"dtype": "bool", "stats": {"min": 0.0, "max": 1.0, "numel": 12}},
            "torch.rand(2, 6) > 0.5",
        ),
        (
            {
                "dtype": "bool",
                "stats": {"min": 1.0, "max": 1.0, "numel": 12, "pattern": "constant"},
            },
            "torch.ones(2, 6, dtype=torch.bool)",
        ),
        ({"is_parameter": True, "requires_grad": True}, "nn.Parameter(torch.randn(2, 6))"),
    ],
)  # fmt: skip
def test_a_tensor_is_made_in_its_layout_dtype_and_range(
    changes: dict[str, Any], expected: str
) -> None:
    assert write_tensor({**handmade("def f(x): pass")["tensors"]["t0"], **changes}) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "torch.randn(2, 6).masked_fill(torch.rand(2, 6) < 0.2, float('nan'))"),
        (
            {"stride": [1, 2], "requires_grad": True},
            "torch.randn(6, 2).masked_fill(torch.rand(6, 2) < 0.2, float('nan'))"
            ".transpose(0, 1).requires_grad_()",
        ),
        (
            {"dtype": "float64", "stats": {"numel": 12, "negative_inf_share": 1.0}},
            "torch.full((2, 6), float('-inf'), dtype=torch.float64)",
        ),
    ],
)
def test_only_where_it_is_wanted_a_tensor_has_what_is_not_finite(
    changes: dict[str, Any], expected: str
) -> None:
    spec = handmade("def f(x): pass")["tensors"]["t0"]
    spec = {**spec, "stats": {**spec["stats"], "nan_share": 0.2}, **changes}
    assert write_tensor(spec, ValueLevel.NOT_FINITE).replace('"', "'") == expected
    assert "float(" not in write_tensor(spec)


@pytest.mark.parametrize(("is_leaf", "is_written"), [(True, True), (False, False), (False, True)])
def test_a_result_that_may_be_changed_in_place_is_no_leaf(is_leaf: bool, is_written: bool) -> None:
    spec = {**handmade("def f(x): pass")["tensors"]["t0"], "stride": [6, 1], "offset": 0}
    spec.update(requires_grad=True, is_leaf=is_leaf)
    is_copied = is_written and not is_leaf
    made = write_tensor(spec, is_written=is_written)
    assert made == "torch.randn(2, 6, requires_grad=True)" + (".clone()" if is_copied else "")
    base = write_flat_storage([spec], is_written=is_written)
    assert base == "torch.randn(12)" + (".requires_grad_().clone()" if is_copied else "")
    view = write_view(spec, "base", is_written)
    assert view.endswith(".requires_grad_()") is not is_copied

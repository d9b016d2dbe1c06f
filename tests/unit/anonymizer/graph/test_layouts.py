"""The layout of a tensor in a repro."""

from __future__ import annotations

import pytest

from anonymizer.graph.ir import Recipe, TensorMeta
from anonymizer.graph.layouts import write_tensor, write_view

LAYOUTS = [
    ((2, 3), (3, 1), "torch.randn(2, 3)"),
    ((2, 3), (1, 2), "torch.randn(3, 2).t()"),
    ((2, 3, 4), (1, 2, 6), "torch.randn(4, 3, 2).permute(2, 1, 0)"),
    ((2, 3), (0, 1), "torch.randn(1, 3).expand(2, 3)"),
    ((2, 3), (10, 2), "torch.randn(15).as_strided((2, 3), (10, 2))"),
]


@pytest.mark.parametrize(("shape", "stride", "text"), LAYOUTS)
def test_a_layout_is_written_as_a_person_would(
    shape: tuple[int, ...], stride: tuple[int, ...], text: str
) -> None:
    assert write_tensor(TensorMeta(shape, "float32", stride), Recipe("randn"), shape) == text


@pytest.mark.parametrize(
    ("stride", "shape", "offset", "text"),
    [
        ((0, 1), (4, 3), 0, "x"),
        ((0, 1), (2, 3), 0, "x[:2]"),
        ((0, 1), (4, 3), 1, "x.as_strided((4, 3), (0, 1), 1)"),
        ((3, 1), (2, 3), 6, "x[2:]"),
        ((3, 1), (2, 3), 1, "x.as_strided((2, 3), (3, 1), 1)"),
    ],
)
def test_a_view_is_a_slice_where_rows_follow_each_other(
    stride: tuple[int, ...], shape: tuple[int, ...], offset: int, text: str
) -> None:
    owner, view = TensorMeta((4, 3), "float32", stride), TensorMeta(shape, "float32", stride)
    assert write_view("x", owner, view, offset) == text

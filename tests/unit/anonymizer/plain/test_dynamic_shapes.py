"""Dynamic dimensions of an export, written out."""

from __future__ import annotations

from anonymizer.graph.repro import MODULE_CALL, ReproAssertion, ReproBody
from anonymizer.plain.dynamic_shapes import EVERY_DIMENSION, write_out

ASSERTION = ReproAssertion(
    "crash", arguments=(("dynamic_shapes", EVERY_DIMENSION),), compiler="export"
)


def spelled(*inputs: str) -> list[str]:
    body = ReproBody("", "Repro()", inputs, MODULE_CALL)
    return [dict(assertion.arguments)["dynamic_shapes"] for assertion in write_out(body, ASSERTION)]


def test_each_dimension_is_tried_as_the_only_dynamic_one_and_then_all() -> None:
    assert spelled("return (torch.ones(2, 3),)") == [
        '({0: torch.export.Dim("d")},)',
        '({1: torch.export.Dim("d")},)',
        '({0: torch.export.Dim("d2"), 1: torch.export.Dim("d3")},)',
    ]
    assert spelled("x = torch.randn(4, requires_grad=True).to(torch.int8)", "return (x,)") == [
        '({0: torch.export.Dim("d")},)'
    ]


def test_equal_sizes_are_one_dimension_and_a_size_of_one_is_none() -> None:
    assert spelled("return (torch.arange(6.0).reshape(3, 1, 2), torch.zeros((1, 3)))")[-1] == (
        '({0: torch.export.Dim("d3"), 2: torch.export.Dim("d2")}, {1: torch.export.Dim("d3")})'
    )
    assert spelled("return (torch.ones(1, 5), torch.ones(1, 1))") == [
        '({1: torch.export.Dim("d")}, None)'
    ]


def test_shapes_that_cannot_be_read_are_left_as_they_are() -> None:
    assert spelled("return (torch.ones(2, 3).t(),)") == []
    assert spelled("return (helper(2, 3),)") == []

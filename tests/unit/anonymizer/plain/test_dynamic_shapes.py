"""Dynamic dimensions of an export, written out."""

from __future__ import annotations

from anonymizer.graph.repro import MODULE_CALL, ReproAssertion, ReproBody
from anonymizer.plain.dynamic_shapes import (
    EVERY_DIMENSION,
    declare_changing,
    declare_symbols,
    write_out,
)

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


def test_declared_dimensions_are_tried_one_by_one_before_all_of_them() -> None:
    body = ReproBody("", "Repro()", ("return (helper(2), torch.ones(4))",), MODULE_CALL)
    assertion = declare_symbols([("s0", 3, "s1"), (8,), ("s0",)], ASSERTION)
    d0, d1 = 'torch.export.Dim("d0")', 'torch.export.Dim("d1")'
    alone = [
        '({0: torch.export.Dim("d")}, None, None)',
        '({2: torch.export.Dim("d")}, None, None)',
        '(None, None, {0: torch.export.Dim("d")})',
    ]
    every = f"({{0: {d0}, 2: {d1}}}, None, {{0: {d0}}})"
    assert [dict(each.arguments)["dynamic_shapes"] for each in write_out(body, assertion)] == [
        *alone,
        every,
    ]


def test_dimensions_that_none_is_known_of_stay_as_they_are() -> None:
    assert declare_symbols([(2, 3), ()], ASSERTION) == ASSERTION
    static = ReproAssertion("crash", compiler="export")
    assert declare_symbols([("s0",)], static) == static


def declared(returned: str, *calls: dict[str, int], compiler: str = "export") -> str | None:
    body = ReproBody("", "Repro()", (f"return {returned}",), MODULE_CALL)
    assertion = ReproAssertion(
        "crash", compiler=compiler, calls=tuple(tuple(c.items()) for c in calls)
    )
    return dict(declare_changing(body, assertion).arguments).get("dynamic_shapes")


def test_what_changes_between_calls_is_dynamic_and_a_multiple_of_another_size_is_one() -> None:
    calls = ({"n": 20, "m": 4}, {"n": 5, "m": 1})
    dimension = 'torch.export.Dim("d", min=1)'
    assert declared("(torch.ones(n, 3), helper(2), torch.ones(m))", *calls) == (
        f"({{0: 5 * {dimension}}}, None, {{0: {dimension}}})"
    )
    calls = ({"n": 20, "m": 4}, {"n": 5, "m": 3})
    assert declared("(torch.ones(m, n),)", *calls) == (
        '({0: torch.export.Dim("d0"), 1: torch.export.Dim("d1")},)'
    )


def test_nothing_is_declared_where_no_size_changes_or_nothing_is_exported() -> None:
    calls = ({"n": 2}, {"n": 3})
    assert declared("(torch.ones(4) * n,)", *calls) is None
    assert declared("(torch.ones(n),)", calls[0]) is None
    assert declared("(torch.ones(n),)", *calls, compiler="compile") is None

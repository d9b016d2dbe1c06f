"""Programs next to a repro: one thing changed in each."""

from __future__ import annotations

import ast
from dataclasses import replace

from anonymizer.graph.repro import FUNCTION_CALL, MODULE_CALL, ReproAssertion, ReproBody
from anonymizer.plain.neighbours import Neighbour, build_neighbours
from anonymizer.plain.script.creation_calls import list_sizes, replace_size

MIN = ReproBody(
    "def repro(x):\n    return torch.min(x, 1).values",
    "repro",
    ("return (torch.ones(2, 16, dtype=torch.uint8),)",),
    FUNCTION_CALL,
)
MODULE = ReproBody(
    "class Repro(nn.Module):\n    pass",
    "Repro()",
    ("return (torch.randn(3), torch.randint(0, 2, (3,)))",),
    MODULE_CALL,
)


def found(body: ReproBody, what: str, assertion: ReproAssertion | None = None) -> list[Neighbour]:
    every = list(build_neighbours(body, assertion or ReproAssertion("wrong_result")))
    for near in every:
        ast.parse("def inputs():\n" + "\n".join("    " + line for line in near.body.inputs))
    return [near for near in every if near.what == what]


def test_the_parts_of_complex_numbers_have_no_dtype_of_their_own() -> None:
    made = ("return (torch.complex(torch.randn(2), torch.ones(2)),)",)
    assert found(replace(MIN, inputs=made), "dtype") == []


def test_every_other_dtype_of_the_same_sort_is_tried() -> None:
    dtypes = found(MIN, "dtype")
    assert [near.to for near in dtypes] == ["int8", "int16", "int32", "int64", "bool", "float32"]
    assert {near.own for near in dtypes} == {"uint8"}
    assert dtypes[0].body.inputs == (
        "return (torch.ones(2, 16, dtype=torch.uint8).to(torch.int8),)",
    )


def test_weights_go_with_the_floats_and_whole_numbers_of_a_module_stay() -> None:
    double, half, coarse = found(MODULE, "dtype float32")
    assert (double.to, half.to, coarse.to) == ("float64", "float16", "bfloat16")
    assert double.body.callable == "Repro().to(torch.float64)"
    assert "randint(0, 2, (3,)))" in double.body.inputs[0]
    assert found(MODULE, "dtype int64") == []


def test_an_operator_gives_way_to_its_family() -> None:
    (near,) = found(MIN, "operator")
    assert (near.own, near.to) == ("min", "max")
    assert "torch.max(x, 1).values" in near.body.definitions
    assert "torch.min(x, 1)" in MIN.definitions


def test_a_size_of_several_dimensions_or_of_what_is_cut_out_is_told_apart() -> None:
    pair = replace(MIN, inputs=("x = torch.ones(16, 16)", "return (x,)"))
    cut = replace(MIN, definitions="def repro(x):\n    return x[1:4].min()")
    for body in (pair, cut):
        assert found(body, "size 16") == [] and len(found(body, "sizes 16")) == 4


def test_a_size_changes_in_all_inputs_at_once() -> None:
    assert [near.to for near in found(MIN, "size 16")] == ["15", "17", "8", "32"]
    pair = ReproBody(
        "", "repro", ("x = torch.ones(4, 5)", "return (x, torch.zeros(4))"), FUNCTION_CALL
    )
    assert list_sizes(pair) == [5, 4]
    assert replace_size(pair, 4, 9).inputs == ("x = torch.ones(9, 5)", "return (x, torch.zeros(9))")


def test_counted_numbers_are_as_many_as_their_sizes_ask_for() -> None:
    counted = ReproBody(
        "", "", ("return (torch.arange(6.0).reshape(2, 3), torch.ones(2))",), FUNCTION_CALL
    )
    assert list_sizes(counted) == [3, 2]
    (changed,) = replace_size(counted, 2, 1).inputs
    assert changed == "return (torch.arange(3.0).reshape(1, 3), torch.ones(1))"
    assert found(MIN, "size 16", ReproAssertion("stale_graph", calls=((("n", 1),),))) == []


def test_contiguous_inputs_get_other_layouts_and_those_of_other_layouts_become_contiguous() -> None:
    assert [near.to for near in found(MIN, "layout")] == ["transposed", "strided"]
    lines = (
        "x = (torch.ones(2, 3) * 2).t()",
        "y = torch.ones(3, 2)",
        "return (x, y, y.t())",
    )
    (near,) = found(ReproBody("", "repro", lines, FUNCTION_CALL), "layout")
    assert (near.own, near.to) == ("transposed", "contiguous")
    assert near.body.inputs == (lines[0] + ".contiguous()", *lines[1:])
    lines = ("return (torch.ones(6).as_strided((2, 2), (3, 1)), torch.ones(2, 1).expand(2, 2))",)
    (near,) = found(ReproBody("", "repro", lines, FUNCTION_CALL), "layout")
    assert (near.own, near.to) == ("strided", "contiguous")
    assert near.body.inputs[0].count(".contiguous()") == 2
    shared = ReproBody("", "repro", ("x = torch.ones(2, 3)", "return (x, x.t())"), FUNCTION_CALL)
    assert [near.own for near in found(shared, "layout")] == ["contiguous", "contiguous"]


def test_special_values_and_arguments_are_given_up_one_by_one() -> None:
    body = ReproBody(
        "def repro(x):\n    return torch.sum(x, 1, keepdim=True, dtype=torch.int8)",
        "repro",
        ("return (torch.full((2, 2), float('-inf')),)",),
        FUNCTION_CALL,
    )
    (value,) = found(body, "values -inf")
    assert (value.own, value.to) == ("-inf", "1.0")
    assert value.body.inputs == ("return (torch.full((2, 2), 1.0),)",)
    (dtype,) = found(body, "argument dtype of sum")
    assert (dtype.own, dtype.to) == ("torch.int8", "left out")
    assert dtype.body.definitions.endswith("torch.sum(x, 1, keepdim=True)")
    assert len(found(body, "argument keepdim of sum")) == 1


def test_an_argument_that_is_no_operators_own_is_left_alone() -> None:
    definitions = """
def repro(x):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        y = helper(x, n=1).mean(dim=x.size(0))
    return y.sum(dim=0) - y.sum(dim=1)
"""
    body = ReproBody(definitions, "repro", ("return (torch.ones(2, 2),)",), FUNCTION_CALL)
    assert [
        near for near in build_neighbours(body, ReproAssertion("crash")) if "argument" in near.what
    ] == []

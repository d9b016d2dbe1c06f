"""Inputs that a reader can hold, plainest first."""

from __future__ import annotations

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, CallingConvention, ReproBody
from anonymizer.plain.script.creation_calls import find_creation_calls, read_dtype, replace_size
from anonymizer.plain.values import build_plainer_input, build_plainer_inputs, count_random


def plainer(*lines: str) -> list[list[str]]:
    body = ReproBody("def repro(x):\n    return x", "repro", lines, FUNCTION_CALL)
    count = count_random(body)
    single = [each for index in range(count) for each in build_plainer_input(body, index)]
    return [
        list(found.inputs)
        for found in (*build_plainer_inputs(body), *(single if count > 1 else ()))
    ]


@pytest.mark.parametrize(
    ("random", "ones", "counted", "filled"),
    [
        (
            "torch.randn(2, 3)",
            "torch.ones(2, 3)",
            "torch.arange(6.0).reshape(2, 3)",
            ["torch.full((2, 3), 2.0)"],
        ),
        (
            "torch.randint(0, 250, (1, 16), dtype=torch.uint8)",
            "torch.ones(1, 16, dtype=torch.uint8)",
            "torch.arange(16, dtype=torch.uint8).reshape(1, 16)",
            [
                "torch.full((1, 16), 2, dtype=torch.uint8)",
                "torch.full((1, 16), 255, dtype=torch.uint8)",
                "torch.full((1, 16), 249, dtype=torch.uint8)",
                "torch.zeros(1, 16, dtype=torch.uint8)",
            ],
        ),
        (
            "torch.randint(0, 9, (4,))",
            "torch.ones(4, dtype=torch.int64)",
            "torch.arange(4)",
            ["torch.full((4,), 2)", "torch.full((4,), 8)", "torch.zeros(4, dtype=torch.int64)"],
        ),
        (
            "torch.rand(4, dtype=torch.float64)",
            "torch.ones(4, dtype=torch.float64)",
            "torch.arange(4, dtype=torch.float64) / 4",
            [],
        ),
    ],
)
def test_random_numbers_give_way_to_ones_to_counting_and_to_one_number(
    random: str, ones: str, counted: str, filled: list[str]
) -> None:
    others = (ones, counted, *filled)
    assert plainer(f"return ({random},)") == [[f"return ({other},)"] for other in others]


def test_a_scale_goes_with_the_random_numbers_that_it_scales() -> None:
    made = "torch.rand(2, 2) * 6.0 - 3.0"
    ones, counted = "torch.ones(2, 2)", "torch.arange(4.0).reshape(2, 2) / 4"
    assert plainer(f"return ({made},)") == [[f"return ({ones},)"], [f"return ({counted},)"]]
    both = plainer(f"return ({made}, torch.rand(1))")
    assert both[0] == [f"return ({ones}, torch.ones(1))"]
    assert [f"return ({made}, torch.ones(1))"] in both


@pytest.mark.parametrize(
    ("made", "number"),
    [
        ("torch.rand(4) * 8.3e+20 + 7e+19", "1e+20"),
        ("torch.rand(4) * 4.0 - 8.0", "-5.0"),
        ("torch.randn(4) * 3e+20 + 4e+20", "1e+20"),
        ("torch.randn(4) * 3.0 + 2.0", ""),
        ("torch.rand(4) * -3e-07", ""),
        ("torch.rand(4) * 2000.0", "1000.0"),
        ("torch.rand(4) * 6.0", ""),
        ("torch.rand(4) * 6.0 - 3.0", ""),
        ("torch.rand(4) * 0.5 + 0.75", ""),
    ],
)
def test_large_and_small_values_give_way_to_a_round_number(made: str, number: str) -> None:
    filled = [lines for lines in plainer(f"return ({made},)") if "torch.full" in lines[0]]
    assert filled == ([[f"return (torch.full((4,), {number}),)"]] if number else [])


def test_a_special_value_in_some_places_is_everywhere() -> None:
    made = "(torch.rand(2, 2) * 6.0).masked_fill(torch.rand(2, 2) < 0.2, float('nan'))"
    assert plainer(f"return ({made},)")[0] == ["return (torch.full((2, 2), float('nan')),)"]


@pytest.mark.parametrize(
    ("made", "others"),
    [
        # an index of 3 would be out of range
        (
            "torch.randint(0, 3, (4,))",
            [
                "torch.ones(4, dtype=torch.int64)",
                "torch.full((4,), 2)",
                "torch.zeros(4, dtype=torch.int64)",
            ],
        ),
        (
            "torch.randint(-100, 63, (2,), dtype=torch.int8)",
            [
                "torch.ones(2, dtype=torch.int8)",
                "torch.arange(2, dtype=torch.int8)",
                "torch.full((2,), 2, dtype=torch.int8)",
                "torch.full((2,), -100, dtype=torch.int8)",
                "torch.full((2,), 62, dtype=torch.int8)",
                "torch.zeros(2, dtype=torch.int8)",
            ],
        ),
        ("torch.randint(0, 1, (4,))", ["torch.zeros(4, dtype=torch.int64)"]),
        ("torch.randint(0, 2, (2,), dtype=torch.bool)", ["torch.ones(2, dtype=torch.bool)"]),
        # a padding value, which no count reaches
        (
            "torch.randint(-1, 1, (1,))",
            ["torch.zeros(1, dtype=torch.int64)", "torch.full((1,), -1)"],
        ),
        # a size that changes from call to call
        ("torch.randn(n)", ["torch.ones(n)", "torch.full((n,), 2.0)"]),
        ("torch.zeros(3)", []),
        # whole numbers of the program's own; an index of 3 would be out of range
        (
            "torch.tensor([2, 0, 0, 1])",
            [
                "torch.ones(4, dtype=torch.int64)",
                "torch.full((4,), 2)",
                "torch.zeros(4, dtype=torch.int64)",
            ],
        ),
        ("torch.tensor([2.0, 0.5])", []),
        ("torch.tensor([True, False])", []),
    ],
)
def test_a_plain_value_keeps_the_bounds(made: str, others: list[str]) -> None:
    assert plainer(f"return ({made},)") == [[f"return ({other},)"] for other in others]


def test_all_inputs_come_before_single_ones_and_a_seed_goes_with_the_last() -> None:
    found = plainer("torch.manual_seed(0)", "x = torch.randn(2)", "return (x, torch.rand(1))")
    assert found[0] == ["x = torch.ones(2)", "return (x, torch.ones(1))"]
    assert found[1] == [
        "torch.manual_seed(0)",
        "x = torch.arange(2.0)",
        "return (x, torch.rand(1))",
    ]
    assert found[2][0] == "torch.manual_seed(0)" and len(found) == 7
    assert plainer("return (torch.ones(2),)") == []


def test_the_tensors_of_a_script_are_made_plainer_where_it_makes_them() -> None:
    script = """
def program(compile):
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    value1 = torch.randn(2)
    out = compile(model)(value1)
    return (out, (value1,))
"""
    convention = CallingConvention(is_script=True)
    body = ReproBody(script, "program", ("return ()",), convention)
    assert count_random(body) == 1
    first = next(build_plainer_inputs(body))
    assert "value1 = torch.ones(2)" in first.definitions
    assert "torch.manual_seed(0)" in first.definitions  # its weights are random too
    assert first.inputs == body.inputs and count_random(first) == 0
    assert "torch.ones(1)" in replace_size(first, 2, 1).definitions


def test_arguments_that_are_given_by_keyword_are_found() -> None:
    made = "torch.randn(4).masked_fill(torch.rand(4) < 0.5, value=float('nan'))"
    assert ["return (torch.full((4,), float('nan')),)"] in plainer(f"return ({made},)")


@pytest.mark.parametrize(
    ("made", "other"),
    [
        ("torch.arange(end=6).reshape(2, 3)", "torch.arange(end=2).reshape(2, 1)"),
        ("torch.arange(6.0).reshape(2, 3)", "torch.arange(2.0).reshape(2, 1)"),
        ("torch.arange(1, 7).reshape(2, 3)", "torch.arange(1, 7).reshape(2, 3)"),
    ],
)
def test_what_counts_from_zero_counts_as_far_as_a_new_size_asks(made: str, other: str) -> None:
    body = ReproBody("def repro(x):\n    return x", "repro", (f"return ({made},)",), FUNCTION_CALL)
    assert replace_size(body, 3, 1).inputs == (f"return ({other},)",)
    calls = find_creation_calls(body.parse_creations())
    assert [read_dtype(each) for each in calls] == ["float32" if "6.0" in made else "int64"]

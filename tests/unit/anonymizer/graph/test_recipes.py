"""Recipes for made-up values: which levels are tried, and what they make of the statistics."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from anonymizer.graph import recipes
from anonymizer.graph.ir import Recipe, TensorMeta

FLOATS = TensorMeta((2, 3), "float32")
FINITE = {"min": -1.0, "max": 2.0, "mean": 0.1, "std": 1.0}


@pytest.mark.parametrize(
    ("stats", "special"),
    [
        ({"nan_share": 0.25}, 'float("nan")'),
        ({"positive_inf_share": 0.1}, 'float("inf")'),
        ({"negative_inf_share": 0.5, "nan_share": 0.1}, 'float("-inf")'),
    ],
)
def test_tensors_that_are_not_finite_everywhere_are_so_in_no_element_early_on(
    stats: dict[str, float], special: str
) -> None:
    tried = recipes.list_value_levels([FINITE, {**FINITE, **stats}])
    assert tried[:2] == ("plain", recipes.NOT_FINITE)
    choose = recipes.make_recipe_chooser(recipes.NOT_FINITE)
    text = recipes.write_contiguous_tensor(
        choose(FLOATS, {**FINITE, **stats}), FLOATS.shape, "float32", "cpu"
    )
    assert text == f"torch.full((2, 3), {special})"
    assert choose(FLOATS, FINITE).kind == "randn"


@pytest.mark.parametrize(("share", "value"), [(0.0, 0), (0.1, 0), (0.9, 1), (1.0, 1)])
def test_a_one_sided_mask_may_hold_one_value_alone(share: float, value: int) -> None:
    mask = TensorMeta((2, 3), "bool")
    assert recipes.NOT_FINITE in recipes.list_value_levels([{"numel": 6, "true_share": share}])
    choose = recipes.make_recipe_chooser(recipes.NOT_FINITE)
    text = recipes.write_contiguous_tensor(
        choose(mask, {"true_share": share}), mask.shape, "bool", "cpu"
    )
    assert text == f"torch.{['zeros', 'ones'][value]}(2, 3, dtype=torch.bool)"
    assert recipes.make_recipe_chooser("plain")(mask, {"true_share": share}).kind == "bool"
    assert recipes.NOT_FINITE not in recipes.list_value_levels([{"numel": 6, "true_share": 0.5}])


def test_finite_tensors_have_no_such_level() -> None:
    assert recipes.list_value_levels([FINITE, None]) == (*recipes.LEVELS, *recipes.ONE_SIDED)
    assert recipes.list_value_levels([{**FINITE, "values": [1.0]}])[-1] == recipes.ALLOWED


@pytest.mark.parametrize(
    ("dtype", "texts"),
    [
        ("int8", ("torch.randint(-100, 0, (2, 3)", "torch.randint(1, 60, (2, 3)")),
        ("float32", ("torch.rand(2, 3) * 100.0 - 100.0", "torch.rand(2, 3) * 60.0")),
    ],
)
def test_values_on_both_sides_of_zero_are_tried_on_each(dtype: str, texts: tuple[str, str]) -> None:
    """A reduction that starts from the wrong number is right in rows that cross zero."""
    meta, stats = TensorMeta((2, 3), dtype), {"numel": 6, "min": -100, "max": 59}
    for level, text in zip(recipes.ONE_SIDED, texts):
        recipe = recipes.make_recipe_chooser(level)(meta, stats)
        assert recipes.write_contiguous_tensor(recipe, meta.shape, dtype, "cpu").startswith(text)
    assert recipes.list_value_levels([{"numel": 6, "min": 0, "max": 59}]) == recipes.LEVELS


def test_a_dtype_is_written_where_it_is_not_the_default() -> None:
    recipe = recipes.make_recipe_chooser("range")(FLOATS, {**FINITE, "constant": True, "min": 0.5})
    assert (
        recipes.write_contiguous_tensor(recipe, (2,), "float32", "cpu") == "torch.full((2,), 0.5)"
    )
    assert "dtype=torch.float16" in recipes.write_contiguous_tensor(recipe, (2,), "float16", "cpu")


def test_masks_of_one_value_come_last() -> None:
    stats = {"numel": 6, "true_share": 0.5, "min": 0, "max": 1}
    assert recipes.list_value_levels([stats])[-2:] == tuple(recipes.MASKS)
    mask, number = TensorMeta((6,), "bool"), TensorMeta((6,), "float32")
    for level, value in recipes.MASKS.items():
        assert recipes.make_recipe_chooser(level)(mask, stats) == Recipe("full", value)
        assert recipes.make_recipe_chooser(level)(number, FINITE) == recipes.make_recipe_chooser(
            "plain"
        )(number, FINITE)


def write(dtype: str, stats: dict[str, Any], level: str) -> str:
    meta = TensorMeta((16,), dtype)
    recipe = recipes.make_recipe_chooser(level)(meta, stats)
    return recipes.write_contiguous_tensor(recipe, meta.shape, dtype, "cpu")


@pytest.mark.parametrize(
    ("dtype", "most"),
    [
        ("float32", 3.4028234663852886e38),
        ("bfloat16", 3.3895313892515355e38),
        ("float64", 1.7976931348623157e308),
    ],
)
def test_a_mask_of_the_least_number_keeps_its_two_values(dtype: str, most: float) -> None:
    """What models add to the scores of attention: 0, or the least number of the dtype."""
    stats = {"min": -most, "max": 0.0, "integral": True, "zero_share": 0.5, "distinct": 2}
    typed = "" if dtype == "float32" else f", dtype=torch.{dtype}"
    assert write(dtype, stats, "range") == f"torch.rand(16{typed}) * {most!r} - {most!r}"
    ties = f"torch.randint(-1, 1, (16,), dtype=torch.{dtype}) * {most!r}"
    assert write(dtype, stats, "close") == ties
    constant = f"-{most!r}" if dtype == "float64" else "-3e+38"
    every = write(dtype, {**stats, "constant": True}, "range")
    assert every == f"torch.full((16,), {constant}{typed})"


@pytest.mark.parametrize("level", ["range", "close", "negative", "positive"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_range_and_its_width_stay_within_the_dtype(dtype: str, level: str) -> None:
    most = {"float16": 65504.0, "float32": 3.4028234663852886e38}.get(dtype, sys.float_info.max)
    stats = {"min": -most, "max": most, "integral": False}
    text = write(dtype, stats, level)
    numbers = [float(number) for number in re.findall(r"[*+-] ([\d.e+]+)", text)]
    assert numbers and max(numbers) <= most, text


@pytest.mark.parametrize("last", [(1 << 63) - 1, 9.223372036854775807e18])
@pytest.mark.parametrize("level", recipes.LEVELS)
def test_ends_of_whole_numbers_are_those_that_torch_takes(last: float, level: str) -> None:
    stats = {"min": 0, "max": last, "integral": True, "constant": False}
    assert write("int64", stats, level) == "torch.randint(0, 9223372036854775807, (16,))"
    padded = {**stats, "max": 5, "padding": int(last), "padding_share": 0.25}
    assert write("int64", padded, level).endswith("< 0.2, 9223372036854775807)")
    assert write("int64", {**stats, "constant": True, "min": last}, level) == (
        "torch.full((16,), 9223372036854775807, dtype=torch.int64)"
    )


@pytest.mark.parametrize(
    ("distinct", "last", "text"),
    [
        (3, 2.0, "torch.randint(0, 3, (16,), dtype=torch.float32)"),
        (2, 5.0, "torch.randint(0, 2, (16,), dtype=torch.float32) * 5.0"),
        (0, 5.0, "torch.randint(0, 6, (16,), dtype=torch.float32)"),
    ],
)
def test_few_whole_numbers_are_as_far_apart_as_they_were(
    distinct: int, last: float, text: str
) -> None:
    stats = {"min": 0.0, "max": last, "integral": True, "distinct": distinct}
    assert write("float32", stats, "close") == text
    assert write("float32", stats, "range").endswith(
        f"{int(last) + 1}, (16,), dtype=torch.float32)"
    )


def test_few_values_that_lie_too_close_are_any_of_their_range() -> None:
    near = {"min": 0.0, "max": 5e-324, "integral": False, "distinct": 3}
    assert write("float64", near, "close").startswith("torch.rand(16, dtype=torch.float64)")


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize(
    ("level", "text"),
    [
        ("plain", "torch.randn(16)"),
        ("range", "(torch.rand(16) * 3.0 - 1.0)"),
        ("close", '(torch.rand(16) * 3.0 - 1.0).masked_fill(torch.rand(16) < 0.5, float("nan"))'),
    ],
)
def test_small_floats_are_made_of_wider_ones(dtype: str, level: str, text: str) -> None:
    """`torch.randn` and arithmetic are not implemented for them."""
    stats = {**FINITE, "nan_share": 0.5}
    assert write(dtype, stats, level) == f"{text}.to(torch.{dtype})"

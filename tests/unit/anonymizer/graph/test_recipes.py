"""Recipes for made-up values: which levels are tried, and what they make of the statistics."""

from __future__ import annotations

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

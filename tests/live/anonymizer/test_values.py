"""Every recipe, in every layout, makes a tensor of the promised shape, strides, dtype and
values.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
import torch

from anonymizer.graph.emitter import emit
from anonymizer.graph.ir import Graph, Input, Node, Recipe, Ref, TensorMeta
from anonymizer.graph.layouts import write_tensor
from anonymizer.graph.recipes import ALLOWED, LEVELS, make_recipe_chooser, write_weight_recipes
from anonymizer.source.objects.tensors import ValueLevel
from anonymizer.source.objects.tensors import write_tensor as write_spec
from collectors.dynamo.value_statistics import list_literal_values, measure_distribution
from collectors.source.values import read_tensor_spec

LAYOUTS = {
    "contiguous": ((2, 3), (3, 1)),
    "transposed": ((2, 3), (1, 2)),
    "permuted": ((2, 3, 4), (1, 2, 6)),
    "expanded": ((2, 3), (1, 0)),
    "strided": ((2, 3), (8, 2)),
    "scalar": ((), ()),
}


RECIPES = {
    "uniform": Recipe("uniform", -4.0, 2.0),
    "normal": Recipe("normal", 3.0, 0.01),
    "ties": Recipe("ties", -1, 3, step=0.25),
    "sparse": Recipe("normal", 0.0, 2.0, specials=(("0.0", 0.9), ('float("-inf")', 0.1))),
    "full": Recipe("full", 0.5),
}


def made(meta: TensorMeta, recipe: Recipe) -> torch.Tensor:
    torch.manual_seed(0)
    tensor: torch.Tensor = eval(write_tensor(meta, recipe, meta.shape), {"torch": torch})
    assert tuple(tensor.shape) == meta.shape
    if meta.numel > 1:
        kept = [
            (n, a, b) for n, a, b in zip(meta.shape, tensor.stride(), meta.stride or ()) if n > 1
        ]
        assert all(a == b for _, a, b in kept)
    assert str(tensor.dtype) == f"torch.{meta.dtype}"
    return tensor


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", RECIPES)
def test_recipes_keep_their_layout(name: str, dtype: str, layout: str) -> None:
    shape, stride = LAYOUTS[layout]
    made(TensorMeta(shape, dtype, stride), RECIPES[name])


@pytest.mark.parametrize("name", RECIPES)
def test_an_input_that_needs_gradients_is_a_leaf(name: str) -> None:
    meta = TensorMeta((2, 3), "float32", (3, 1), requires_grad=True)
    node = Node("n0", "method", "exp", (Ref("x0"),), meta=meta)
    body = emit(Graph((Input("x0", "input", meta, RECIPES[name]),), (node,), (Ref("n0"),)))
    names: dict[str, Any] = {"torch": torch}
    exec("def inputs():\n    " + "\n    ".join(body.inputs), names)
    (x,) = names["inputs"]()
    assert x.requires_grad and x.is_leaf


CLOSE = {
    "sparse": (
        torch.randn(1000).masked_fill(torch.rand(1000) < 0.8, 0.0),
        lambda x: 0.6 < (x == 0).double().mean() < 0.95,
    ),
    "mask": (
        torch.zeros(64, 64).masked_fill(torch.ones(64, 64).triu(1) > 0, -float("inf")),
        lambda x: bool((x == -float("inf")).any()) and not bool((x > 0).any()),
    ),
    "both infinities": (
        torch.tensor([1.5, -float("inf"), float("inf"), 2.5] * 50),
        lambda x: bool((x == -float("inf")).any() and (x == float("inf")).any()),
    ),
    "ties": (torch.tensor([0.1, 0.35, 0.6] * 100), lambda x: x.unique().numel() <= 4),
    "nan": (torch.tensor([1.5, float("nan")] * 100), lambda x: bool(x.isnan().any())),
}


@pytest.mark.parametrize("name", CLOSE)
def test_the_closest_level_keeps_what_is_special(name: str) -> None:
    tensor, kept = CLOSE[name]
    meta = TensorMeta(tuple(tensor.shape), "float32", tuple(tensor.stride()))
    recipe = make_recipe_chooser("close")(meta, measure_distribution(tensor))
    assert kept(made(meta, recipe)), recipe
    plain = make_recipe_chooser("plain")(meta, measure_distribution(tensor))
    assert not kept(made(meta, plain)), "the plainest level would do, so this shows nothing"


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_numbers_keep_the_ranges_of_both_parts(dtype: torch.dtype) -> None:
    tensor = torch.complex(torch.linspace(-95, 20, 60), torch.rand(60) * 1e-20).to(dtype)
    meta = TensorMeta((40,), str(dtype)[6:], (1,))
    values = made(meta, make_recipe_chooser("range")(meta, measure_distribution(tensor)))
    assert values.dtype == dtype
    assert -100 <= values.real.min() < -50 and 0 < values.real.max() <= 20
    assert 0 <= values.imag.min() and 0 < values.imag.max() <= 1e-20


PADDED = {
    "targets that a loss ignores": torch.tensor([3, 0, -100, 6, 2, -100]),
    "one ignored target of a large vocabulary": torch.tensor([-100, 30_000, 17, 4]),
    "classes of pixels, and those of none": torch.tensor([[0, 20, 255], [7, 255, 11]]).byte(),
}


@pytest.mark.parametrize("name", PADDED)
@pytest.mark.parametrize("level", LEVELS)
def test_integers_keep_what_stands_for_no_entry(name: str, level: str) -> None:
    tensor = PADDED[name]
    padding = -100 if tensor.dtype == torch.int64 else 255
    shape = (40, 40)
    meta = TensorMeta(shape, str(tensor.dtype)[6:], (40, 1))
    values = made(meta, make_recipe_chooser(level)(meta, measure_distribution(tensor)))
    entries = values[values != padding]
    assert 0 < entries.numel() < values.numel()
    assert 0 <= entries.min() and entries.max() <= tensor[tensor != padding].max()


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([-1, 0, 4, 4]),
        torch.tensor([-5, -3, 2, 2]),
        torch.tensor([0, 1, 9, 9]),
        torch.tensor([0, 1, 255]),
        torch.tensor([7, 7]),
    ],
    ids=["near", "several negative", "not far", "once", "constant"],
)
def test_other_integers_have_no_padding(tensor: torch.Tensor) -> None:
    found = measure_distribution(tensor)
    assert "padding" not in found
    assert (found["min"], found["max"]) == (float(tensor.min()), float(tensor.max()))


STRUCTURED: dict[str, tuple[torch.Tensor, Any]] = {
    "offsets of bags": (
        torch.tensor([0, 40, 41, 300]),
        lambda x: x[0] == 0 and x[-1] == 300 and bool((x.diff() >= 0).all()),
    ),
    "lengths of a packed batch": (
        torch.tensor([90, 40, 40, 7]),
        lambda x: x.min() == 7 and bool((x.diff() <= 0).all()),
    ),
    "boundaries of buckets": (
        torch.tensor([-0.83, 0.1, 0.11, 2.4]),
        lambda x: bool((x.diff() >= 0).all()),
    ),
    "covariances": (
        (torch.eye(5) + torch.arange(5.0).outer(torch.arange(5.0)) / 9 + 0.3).repeat(3, 1, 1),
        lambda x: not bool(torch.linalg.cholesky_ex(x).info.any()) and not bool((x == 0).any()),
    ),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_the_closest_level_keeps_what_operators_ask_of_values(name: str) -> None:
    tensor, kept = STRUCTURED[name]
    dtype = str(tensor.dtype)[6:]
    meta = TensorMeta(tuple(tensor.shape), dtype, tuple(tensor.contiguous().stride()))
    recipe = make_recipe_chooser("close")(meta, measure_distribution(tensor))
    assert kept(made(meta, recipe)), recipe
    plain = make_recipe_chooser("plain")(meta, measure_distribution(tensor))
    assert not kept(made(meta, plain)), "the plainest level would do, so this shows nothing"
    rewritten = write_spec(read_tensor_spec(tensor))
    assert kept(eval(rewritten, {"torch": torch})), rewritten


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float8_e5m2])
@pytest.mark.parametrize("values", [[1.0, nan, 3.0, inf], [-inf, 0.5, 0.25, -inf], [inf], [nan]])
def test_a_rewritten_program_may_have_what_is_not_finite(
    values: list[float], dtype: torch.dtype
) -> None:
    tensor = torch.tensor(values * 50).to(dtype)
    spec = read_tensor_spec(tensor)
    assert bool(eval(write_spec(spec), {"torch": torch}).double().isfinite().all())
    torch.manual_seed(0)
    remade = eval(write_spec(spec, ValueLevel.NOT_FINITE), {"torch": torch})
    assert remade.dtype == dtype
    for kind in (torch.isnan, torch.isposinf, torch.isneginf):
        found, wanted = (float(kind(each.double()).sum()) for each in (remade, tensor))
        assert abs(found - wanted) < 10 * len(values), remade
        assert bool(found) == bool(wanted)


def test_a_matrix_in_a_larger_storage_is_no_matrix_as_large_as_that() -> None:
    tensor = torch.zeros(20).as_strided((3, 3), (6, 1)).copy_(torch.eye(3) + 0.3)
    spec = read_tensor_spec(tensor)
    assert spec["stats"]["pattern"] == "definite"
    assert write_spec(spec) == "torch.rand(15).as_strided((3, 3), (6, 1))"


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_an_identity_matrix_stays_one_also_where_it_is_differentiated(dtype: str) -> None:
    tensor = torch.eye(3, dtype=getattr(torch, dtype), requires_grad=True)
    stats = measure_distribution(tensor)
    square = TensorMeta((3, 3), dtype, (3, 1))
    recipe = make_recipe_chooser("close")(square, stats)
    assert torch.equal(made(square, recipe), tensor)
    # made smaller, it need be no matrix any more
    assert made(TensorMeta((3,), dtype, (1,)), recipe).tolist() == [1, 1, 1]
    assert "structure" not in measure_distribution(torch.eye(3, 2, requires_grad=True))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "bfloat16", "uint8", "uint16"])
def test_an_order_is_found_in_every_dtype(dtype: str) -> None:
    tensor = torch.tensor([0.0, 1.0, 3.0]).to(getattr(torch, dtype))
    assert measure_distribution(tensor)["structure"] == "ascending"


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([1, 2]),
        torch.tensor([5, 5, 5]),
        torch.tensor([1, 3, 2]),
        torch.randn(3, 3),
        torch.tensor([[1.0, 2.0], [2.0, 1.0]]),
        torch.tensor([[1.0, 2.0], [0.0, 9.0]]),
        torch.tensor([[2, 1], [1, 2]]),
        torch.tensor([0.5, 1.0, 2.0], requires_grad=True),
    ],
    ids=["two", "constant", "mixed", "any", "indefinite", "unsymmetric", "whole", "a weight"],
)
def test_other_values_have_no_structure(tensor: torch.Tensor) -> None:
    assert "structure" not in measure_distribution(tensor)


def test_complex_numbers_that_are_one_real_number_keep_its_size_alone() -> None:
    meta = TensorMeta((2,), "complex64", (1,))
    stats = measure_distribution(torch.full((2,), 501.0 + 0j))
    assert made(meta, make_recipe_chooser("range")(meta, stats)).tolist() == [500, 500]
    for other in (torch.tensor([501.0 + 0j, 502]), torch.full((2,), 501.0 + 1j)):
        assert make_recipe_chooser("range")(meta, measure_distribution(other)).kind == "complex"


def test_moments_are_matched_to_one_digit() -> None:
    tensor = torch.randn(10_000, generator=torch.Generator().manual_seed(1)) * 37.3 + 512.9
    meta = TensorMeta((10_000,), "float32", (1,))
    recipe = make_recipe_chooser("moments")(meta, measure_distribution(tensor))
    assert (recipe.kind, recipe.low, recipe.high) == ("normal", 500.0, 40.0)


def test_no_level_but_the_allowed_one_has_a_value_of_the_tensor() -> None:
    tensor = torch.tensor([[0.12345, -7.77123], [31.41592, 2.71828]])
    stats = {**measure_distribution(tensor), "values": list_literal_values(tensor)}
    meta = TensorMeta((2, 2), "float32", (2, 1))
    numbers = [f"{value:.4g}" for value in tensor.flatten().tolist()]
    for level in LEVELS:
        text = write_tensor(meta, make_recipe_chooser(level)(meta, stats), meta.shape)
        assert not any(number in text for number in numbers), text
    assert not any(number in text for text in write_weight_recipes([stats]) for number in numbers)
    assert torch.equal(made(meta, make_recipe_chooser(ALLOWED)(meta, stats)), tensor)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "scalar"])
def test_allowed_values_come_back_in_every_layout(layout: str) -> None:
    shape, stride = LAYOUTS[layout]
    tensor = torch.empty_strided(shape, stride)
    tensor.copy_(torch.randn(shape))
    if shape:
        tensor[0, 1] = -float("inf")
    stats = {**measure_distribution(tensor), "values": list_literal_values(tensor)}
    meta = TensorMeta(shape, "float32", stride)
    assert torch.equal(made(meta, make_recipe_chooser(ALLOWED)(meta, stats)), tensor)


def test_allowed_values_are_cut_with_their_tensor() -> None:
    tensor = torch.arange(12.0).reshape(3, 4)
    meta = TensorMeta((2, 2), "float32", (2, 1))
    recipe = Recipe("literal", values=tuple(tensor.flatten().tolist()), shape=(3, 4))
    assert torch.equal(made(meta, recipe), tensor[:2, :2])


def test_the_largest_whole_numbers_are_not_rounded() -> None:
    most = torch.iinfo(torch.int64).max
    for tensor in (torch.tensor([0, 3, most, most, 1]), torch.tensor([2, most - 1, 5])):
        found, spec = measure_distribution(tensor), read_tensor_spec(tensor)
        largest = found.get("padding", found["max"])
        assert largest == int(tensor.max()) == spec["stats"].get("padding", spec["stats"]["max"])
        meta = TensorMeta((40,), "int64", (1,))
        for level in LEVELS:
            values = made(meta, make_recipe_chooser(level)(meta, found))
            assert int(values.max()) > 1 << 60
        assert (
            eval(write_spec({**spec, "shape": [40], "stride": [1]}), {"torch": torch}).max()
            > 1 << 60
        )


MASK = torch.zeros(40, 40).masked_fill(torch.ones(40, 40).triu(1) > 0, -1.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("level", ["range", "close"])
def test_a_mask_of_the_least_number_stays_finite(dtype: torch.dtype, level: str) -> None:
    """What models add to the scores of attention: 0, or the least number of the dtype."""
    tensor = MASK.to(dtype) * torch.finfo(dtype).max
    meta = TensorMeta((40, 40), str(dtype)[6:], (40, 1))
    values = made(meta, make_recipe_chooser(level)(meta, measure_distribution(tensor)))
    assert values.isfinite().all() and values.min() < values.max() <= 0
    assert level == "range" or values.unique().numel() == 2


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_small_floats_can_be_made(dtype: torch.dtype) -> None:
    tensor = (torch.randn(40) * 9).to(dtype)
    meta = TensorMeta((40,), str(dtype)[6:], (1,))
    for level in LEVELS:
        values = made(meta, make_recipe_chooser(level)(meta, measure_distribution(tensor)))
        assert values.float().isfinite().all() and values.float().unique().numel() > 3


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize(
    "recipe",
    [
        Recipe("arange"),
        Recipe("linspace", 0, 3),
        Recipe("randint", 0, 4),
        Recipe("randint", 0, 4, specials=(("9", 0.5),)),
        Recipe("full", 3),
    ],
)
def test_wider_unsigned_numbers_can_be_made(dtype: str, recipe: Recipe) -> None:
    values = made(TensorMeta((4,), dtype, (1,)), recipe)
    assert values.dtype == getattr(torch, dtype) and values.shape == (4,)

"""Synthetic values: the simplest seeded recipe that can stand for a tensor, given only what its values must respect.

Recipes are tried in levels, plainest first. No level copies data: a level knows a range, whether values are
whole numbers, distinct, constant — never which values they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from anonymizer.ir import Recipe, TensorMeta

LEVELS = ("plain", "positive", "range", "edges")


def _integer(meta: TensorMeta, stats: Mapping[str, Any], level: str) -> Recipe:
    low, high = int(stats.get("min", 0)), int(stats.get("max", 1))
    if meta.dtype == "bool":
        return Recipe("bool")
    if (
        level == "plain"
        and stats.get("unique")
        and len(meta.shape) == 1
        and meta.numel > 1
        and low == 0
        and high == meta.numel - 1
    ):
        return Recipe("arange")
    if stats.get("constant"):
        return Recipe("full", low)
    return Recipe("randint", low, high + 1)


def recipe_for(level: str) -> Callable[[TensorMeta, Mapping[str, Any]], Recipe]:
    """The function that chooses a recipe at one of `LEVELS` for a tensor's metadata and statistics."""

    def choose(meta: TensorMeta, stats: Mapping[str, Any]) -> Recipe:
        if not meta.is_float and not meta.dtype.startswith("complex"):
            return _integer(meta, stats, level)
        low, high = stats.get("min"), stats.get("max")
        if low is None or high is None:
            return Recipe("randn")
        # what is converted to an integer keeps its range: C++ leaves the conversion of other floats undefined
        if level == "plain" and not stats.get("cast"):
            # an intermediate that is never negative is often read by what needs that (a root, a logarithm)
            return Recipe("rand" if stats.get("intermediate") and low >= 0 else "randn")
        if level == "positive" and not stats.get("cast"):
            return Recipe("rand") if low >= 0 else Recipe("randn")
        if stats.get("constant"):
            return Recipe("full", _tidy(low), 0)
        if level == "edges" and (stats.get("nan") or stats.get("inf")):
            return Recipe(
                "nan" if stats.get("nan") else "inf", math.floor(low), math.ceil(high) or 1
            )
        if stats.get("integral") and abs(high) < 1e6:
            return Recipe("randint", math.floor(low), math.floor(high) + 1)
        return Recipe("uniform", _tidy(low, math.floor), _tidy(high, math.ceil))

    return choose


def weight_recipes(stats: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How weights can be made where a layer's own initialisation is too tame: statements on `weight`, from plain to close.

    Numbers are those of all weights together, to one digit, so that none of them tells of any.
    """
    known = [item for item in stats if "std" in item and "min" in item]
    if not known:
        return
    count = sum(item["numel"] for item in known)
    square = sum((item["std"] ** 2 + item["mean"] ** 2) * item["numel"] for item in known) / count
    deviation = _tidy(math.sqrt(square), math.ceil)
    if deviation:
        yield f"nn.init.normal_(weight, std={deviation!r})"
    low = _tidy(min(item["min"] for item in known), math.floor)
    high = _tidy(max(item["max"] for item in known), math.ceil)
    if low < high:
        yield f"nn.init.uniform_(weight, {low!r}, {high!r})"


def _tidy(value: float, toward: Callable[[float], float] = round) -> float:
    """A value of one significant digit, so that no measured number leaves the machine."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    scale = 10.0 ** math.floor(math.log10(abs(value)))
    return float(f"{toward(value / scale) * scale:.6g}")


def expression(recipe: Recipe, shape: tuple[int | str, ...], dtype: str, device: str) -> str:
    """Python text that makes a contiguous tensor; `shape` entries are numbers or names of sizes."""
    dims = ", ".join(str(size) for size in shape)
    sizes = dims if dims else "()"
    tuple_sizes = f"({dims},)" if len(shape) == 1 else f"({dims})"
    kind = recipe.kind
    where = "" if device == "cpu" else f', device="{device}"'
    typed = "" if dtype == "float32" else f", dtype=torch.{dtype}"
    half_like = dtype in ("float16", "bfloat16")
    if kind in ("randn", "rand"):
        return f"torch.{kind}({sizes}{typed}{where})"
    if kind == "uniform":
        low, high = _number(recipe.low), _number(recipe.high - recipe.low)
        text = f"torch.rand({sizes}{typed}{where}) * {high}"
        return (
            text
            if recipe.low == 0
            else f"{text} + {low}" if recipe.low > 0 else f"{text} - {_number(-recipe.low)}"
        )
    if kind in ("nan", "inf"):
        base = f"torch.randn({sizes}{typed}{where})"
        return f'{base}.masked_fill(torch.rand({sizes}{where}) < 0.2, float("{kind}"))'
    if kind == "bool":
        return f"torch.randint(0, 2, {tuple_sizes}, dtype=torch.bool{where})"
    if kind == "randint":
        integer = "" if dtype == "int64" else f", dtype=torch.{dtype}"
        if half_like or dtype in ("float32", "float64"):
            integer = f", dtype=torch.{dtype}"
        return (
            f"torch.randint({int(recipe.low)}, {int(recipe.high)}, {tuple_sizes}{integer}{where})"
        )
    if kind == "arange":
        integer = "" if dtype == "int64" else f", dtype=torch.{dtype}"
        count = shape[0] if len(shape) == 1 else None
        if count is not None:
            return f"torch.arange({count}{integer}{where})"
        total = 1
        for size in shape:
            total *= int(size)
        return (
            f"torch.arange({total}{integer}{where}).reshape({dims})"
            if dims
            else f"torch.tensor(0{integer}{where})"
        )
    if kind == "full":
        value = (
            _number(recipe.low) if dtype.startswith(("float", "bfloat")) else str(int(recipe.low))
        )
        return f"torch.full({tuple_sizes}, {value}, dtype=torch.{dtype}{where})"
    if kind in ("zeros", "ones"):
        return f"torch.{kind}({sizes}{typed}{where})"
    raise ValueError(f"unknown recipe {kind}")


def _number(value: float) -> str:
    return (
        repr(int(value)) + ".0"
        if float(value).is_integer() and abs(value) < 1e15
        else repr(float(value))
    )

"""Synthetic values: the simplest seeded recipe that can stand for a tensor, given only what its
values must respect.

Recipes are tried in levels, plainest first. No level copies data: a level knows a range, moments,
how many are zero or special, whether values are whole numbers, distinct, constant — never which
values they are. Only `ALLOWED` writes the values of tensors out, of those that the user has named
and that were therefore recorded.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anonymizer.graph.ir import ChooseRecipe, Recipe, TensorMeta
from anonymizer.kinds import assert_never
from collectors.protocol.captured_values import Share, TensorStatistics

LEVELS = ("plain", "moments", "range", "close")
#: Tensors that hold a NaN or an infinity hold nothing else, and masks hold what most of their
#: elements are: operators that look at several elements at once may need that, and a share of
#: random elements does not give it.
NOT_FINITE = "not finite"
#: The least share of the elements of a mask that counts as most of them.
_MOST_OF_A_MASK = 0.7
#: Masks that are all false, or all true: what one row of a mask does, random ones do rarely.
MASKS = {"all false": 0, "all true": 1}
#: Values on one side of zero, where there were some on both: what a reduction starts from shows in
#: a row that does not cross zero, and random rows do.
ONE_SIDED = ("negative", "positive")
#: The last resort where the user has allowed it: `close`, and the named tensors as they are.
ALLOWED = "allowed"
#: The largest number of each dtype of floats, and of float64 for those that are not here.
_LARGEST = {
    "float32": 3.4028234663852886e38,
    "bfloat16": 3.3895313892515355e38,
    "float16": 65504.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
}
#: The least and the greatest whole number that torch's factories take.
_LEAST_WHOLE, _GREATEST_WHOLE = -(1 << 63), (1 << 63) - 1
#: Of what dtype the parts of complex numbers are that `torch.complex` takes.
_PARTS = {"complex64": "float32", "complex128": "float64"}


def list_value_levels(stats: Iterable[TensorStatistics | None]) -> tuple[str, ...]:
    """The levels worth trying for tensors of these statistics, plainest first.

    `NOT_FINITE` is among them where a tensor has such an element or a mask is one-sided, `MASKS`
    where there is a mask, `ONE_SIDED` where values lie on both sides of zero, `ALLOWED` where the
    user has named tensors whose values may be shown.
    """
    found = [item for item in stats if item]
    is_finite = not any(_find_not_finite(item) or _choose_side(item) is not None for item in found)
    named = any(item.get("values") is not None for item in found)
    return (
        LEVELS[0],
        *(() if is_finite else (NOT_FINITE,)),
        *LEVELS[1:],
        *(MASKS if any("true_share" in item for item in found) else ()),
        *(ONE_SIDED if any(_crosses_zero(item) for item in found) else ()),
        *((ALLOWED,) if named else ()),
    )


def _crosses_zero(stats: TensorStatistics) -> bool:
    return (stats.get("min") or 0) < 0 < (stats.get("max") or 0)


def _find_not_finite(stats: TensorStatistics) -> float | None:
    """The value that is not finite and that most elements have of those that are not; None where
    all are finite.
    """
    shares: dict[Share, float] = {
        "nan_share": math.nan,
        "positive_inf_share": math.inf,
        "negative_inf_share": -math.inf,
    }
    most = max(shares, key=lambda name: stats.get(name) or 0.0)
    return shares[most] if stats.get(most) else None


def _choose_side(stats: TensorStatistics) -> bool | None:
    """What most elements of a mask are; None where neither value has most."""
    share = stats.get("true_share")
    if share is None or 1 - _MOST_OF_A_MASK < share < _MOST_OF_A_MASK:
        return None
    return bool(share > 0.5)


def _choose_integers(meta: TensorMeta, stats: TensorStatistics, level: str) -> Recipe:
    low, high = limit_whole(stats.get("min", 0)), limit_whole(stats.get("max", 1))
    if meta.dtype == "bool" and level in MASKS:
        return Recipe("full", MASKS[level])
    if meta.dtype == "bool":
        side = _choose_side(stats) if level == NOT_FINITE else None
        return Recipe("bool") if side is None else Recipe("full", int(side))
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
    if level in ONE_SIDED and _crosses_zero(stats):
        low, high = (low, -1) if level == "negative" else (1, high)
    if level == "close" and stats.get("structure"):
        return _make_ordered(low, high, stats)
    padding = stats.get("padding")
    end = limit_whole(high + 1)
    if padding is None:
        return Recipe("randint", low, end)
    share = clip_share(stats["padding_share"])
    return Recipe("randint", low, end, specials=((str(limit_whole(padding)), share),))


def limit_whole(value: float) -> int:
    """A whole number, or the nearest one to it that an int64 holds: the largest ones are beyond
    that as floats, and as ends that are no longer included.
    """
    return int(min(max(value, _LEAST_WHOLE), _GREATEST_WHOLE))


def _make_ordered(low: float, high: float, stats: TensorStatistics) -> Recipe:
    """Numbers at equal distances, rising or falling as the recorded ones do."""
    rises = stats["structure"] == "ascending"
    return Recipe("linspace", low, high) if rises else Recipe("linspace", high, low)


def make_recipe_chooser(level: str) -> ChooseRecipe:
    """The function that chooses a recipe.

    Args:
        level: how close the values come to the recorded ones; one of `list_value_levels`.

    Returns:
        (metadata, statistics) -> recipe. The statistics are those of
        `collectors.dynamo.value_statistics`: `min`, `max`, `mean`, `std`, `distinct`, shares of
        special values and of true ones; each may be missing.
    """

    def choose(meta: TensorMeta, stats: TensorStatistics) -> Recipe:
        named = stats.get("values")
        if level == ALLOWED and named is not None:
            return Recipe("literal", values=tuple(named), shape=meta.shape)
        if "imaginary" in stats and meta.dtype in _PARTS:
            return _choose_complex(meta, stats, level)
        if meta.is_float or meta.dtype.startswith("complex"):
            return _choose_floats(meta, stats, level)
        return _choose_integers(meta, stats, level)

    return choose


def _choose_complex(meta: TensorMeta, stats: TensorStatistics, level: str) -> Recipe:
    """Real and imaginary parts, each like those that were recorded."""
    if level == LEVELS[0]:
        return Recipe("randn")
    meta = replace(meta, dtype=_PARTS[meta.dtype])
    parts = [_choose_floats(meta, each, level) for each in (stats, stats["imaginary"])]
    zero, none = Recipe("full"), Recipe("zeros")
    return Recipe("complex", parts=tuple(none if part == zero else part for part in parts))


def _choose_floats(meta: TensorMeta, stats: TensorStatistics, level: str) -> Recipe:
    special = _find_not_finite(stats) if level == NOT_FINITE and meta.is_float else None
    if special is not None:
        return Recipe("full", special)
    low, high = stats.get("min"), stats.get("max")
    if low is None or high is None or level == NOT_FINITE:
        return Recipe("randn")
    # what is converted to an integer keeps its range: C++ leaves the conversion of other floats
    # undefined
    if level in ("plain", *MASKS) and not stats.get("cast"):
        # what is never negative may be read by what needs that: a root, a logarithm, a variance
        return Recipe("rand" if low >= 0 else "randn")
    if level in ONE_SIDED and _crosses_zero(stats):
        low, high = (low, 0.0) if level == "negative" else (0.0, high)
        return _make_uniform(low, high, meta.dtype)
    if level == "moments" and not stats.get("constant"):
        return _make_normal(stats) or Recipe("randn")
    return _add_specials(_make_recipe_within(meta.dtype, stats, level), stats, level)


def _make_recipe_within(dtype: str, stats: TensorStatistics, level: str) -> Recipe:
    """Values of the same range, and of the same sort: constant, ordered, whole, few, or any."""
    low, high = stats["min"], stats["max"]
    if stats.get("constant"):
        return Recipe("full", _limit(_tidy(low), dtype), 0)
    if level == "close" and stats.get("structure") == "identity":
        return Recipe("eye")
    if level == "close" and stats.get("structure") == "definite":
        return Recipe("definite")
    if level == "close" and stats.get("structure"):
        return _make_ordered(*_tidy_range(low, high, dtype), stats)
    few = stats.get("distinct", 0) if level != "range" else 0
    if stats.get("integral") and max(abs(low), abs(high)) < 1e6 and (few < 2 or high - low < few):
        return Recipe("randint", math.floor(low), math.floor(high) + 1)
    if few > 1:
        return _make_ties(dtype, stats)
    return _make_uniform(low, high, dtype)


def _make_uniform(low: float, high: float, dtype: str) -> Recipe:
    low, high = _tidy_range(low, high, dtype)
    return Recipe("uniform", low, high)


def _make_normal(stats: TensorStatistics) -> Recipe | None:
    """A normal distribution of the same mean and deviation, each to one digit."""
    deviation = _tidy(stats.get("std", 0.0))
    if not deviation:
        return None
    mean = stats["mean"]
    # a mean that a hundredth of the deviation would explain is that of the sample and not of the
    # values
    return Recipe("normal", _tidy(mean) if abs(mean) > 0.01 * stats["std"] else 0.0, deviation)


def _make_ties(dtype: str, stats: TensorStatistics) -> Recipe:
    """Few different values, equally far apart: as many as there were, over the same range."""
    low, high, gaps = stats["min"], stats["max"], stats["distinct"] - 1
    step = _limit(_tidy(high / gaps - low / gaps, math.ceil), dtype)
    if not step:  # nearer to each other than floats are
        return _make_uniform(low, high, dtype)
    first = math.floor(low / step)
    return Recipe("ties", first, first + stats["distinct"], step=step)


def _add_specials(base: Recipe, stats: TensorStatistics, level: str) -> Recipe:
    """At the closest level, `base` with about as many zeros, NaNs and infinities as there were, to
    one digit.
    """
    if level not in ("close", ALLOWED):
        return base
    shares = []
    zero = stats.get("zero_share") or 0.0
    if zero > 0.05 and base.kind in ("uniform", "normal"):
        shares.append(("0.0", clip_share(zero)))
    for name, text in NOT_FINITE_VALUES.items():
        share = stats.get(name)
        if share:
            shares.append((text, clip_share(share)))
    return replace(base, specials=tuple(shares))


def clip_share(share: float) -> float:
    """A share of the elements, to one digit: neither none nor all of the few that a repro has."""
    return min(0.9, max(0.1, _tidy(share)))


#: Share of elements -> what they are.
NOT_FINITE_VALUES: Mapping[Share, str] = {
    "nan_share": 'float("nan")',
    "positive_inf_share": 'float("inf")',
    "negative_inf_share": 'float("-inf")',
}


def write_weight_recipes(stats: Sequence[TensorStatistics]) -> Iterator[str]:
    """How weights can be made where a layer's own initialization is too tame, from plain to close.

    Args:
        stats: of each weight: `numel`, `mean`, `std`, `min`, `max`; those without are left out.

    Returns:
        Statements on `weight`. Their numbers are those of all weights together, to one digit, so
        that none of them tells of any.
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
    if not scale:  # the least floats of all
        return 0.0
    return float(f"{toward(value / scale) * scale:.6g}")


def _limit(value: float, dtype: str) -> float:
    """The nearest number that a dtype of floats holds."""
    most = _LARGEST.get(dtype, sys.float_info.max)
    return min(max(value, -most), most)


def _tidy_range(low: float, high: float, dtype: str) -> tuple[float, float]:
    """The ends of a range to one digit, outwards as far as the dtype holds them and their
    distance.
    """
    low, high = _limit(_tidy(low, math.floor), dtype), _limit(_tidy(high, math.ceil), dtype)
    return (low, high) if high - low == _limit(high - low, dtype) else (low / 2, high / 2)


def write_contiguous_tensor(
    recipe: Recipe, shape: tuple[int | str, ...], dtype: str, device: str
) -> str:
    """Python text that makes a contiguous tensor.

    Args:
        recipe: how its values are made.
        shape: sizes in elements, or names of sizes.
        dtype: as torch names it, `float32`.
        device: its type, `cpu`.
    """
    where = "" if device == "cpu" else f', device="{device}"'
    return _write_tensor(recipe, _TensorText(shape, dtype, where))


def _write_tensor(recipe: Recipe, wanted: _TensorText) -> str:
    wide = _find_wider(recipe, wanted.dtype)
    if wide:
        text = _write_tensor(recipe, replace(wanted, dtype=wide))
        text = text if recipe.specials else parenthesize_operand(text)
        return f"{text}.to(torch.{wanted.dtype})"
    text = _write_base(recipe, wanted)
    for value, share in recipe.specials:
        masked = f"torch.rand({wanted.sizes}{wanted.where}) < {share:g}"
        text = f"{parenthesize_operand(text)}.masked_fill({masked}, {value})"
    return text


def _find_wider(recipe: Recipe, dtype: str) -> str:
    """The dtype in which values are made that torch does not make in their own; empty for others.

    Of the float8 ones there are no random numbers and no arithmetic, of the wider unsigned ones
    there is neither `arange` nor `linspace` nor `masked_fill` (torch 2.13.0).
    """
    if dtype.startswith("float8"):
        return "float32"
    is_counted = recipe.kind in ("arange", "linspace") or bool(recipe.specials)
    return "int64" if dtype in ("uint16", "uint32", "uint64") and is_counted else ""


def parenthesize_operand(text: str) -> str:
    """An expression to which a method call can be appended, with parentheses where it needs
    them.
    """
    return f"({text})" if " * " in text or " + " in text or " - " in text else text


@dataclass(frozen=True)
class _TensorText:
    """What torch's factories are told of a tensor, as text: sizes, and keyword arguments with the
    comma before them.
    """

    shape: tuple[int | str, ...]
    dtype: str
    #: `, device="cuda"`; empty for the CPU.
    where: str

    @property
    def dims(self) -> str:
        return ", ".join(str(size) for size in self.shape)

    @property
    def sizes(self) -> str:
        """The sizes as positional arguments."""
        return self.dims or "()"

    @property
    def size_tuple(self) -> str:
        return f"({self.dims},)" if len(self.shape) == 1 else f"({self.dims})"

    def type_unless(self, default: str) -> str:
        """The dtype, where it is not the one that the factory chooses by itself."""
        return "" if self.dtype == default else f", dtype=torch.{self.dtype}"


def _write_base(recipe: Recipe, wanted: _TensorText) -> str:
    """The call that makes the values, without what is special about some of them."""
    where, typed = wanted.where, wanted.type_unless("float32")
    match recipe.kind:
        case "randn" | "rand" | "zeros" | "ones":
            return f"torch.{recipe.kind}({wanted.sizes}{typed}{where})"
        case "uniform" | "normal":
            return _write_scaled(recipe, wanted)
        case "ties":
            drawn = (
                f"torch.randint({int(recipe.low)}, {int(recipe.high)},"
                f" {wanted.size_tuple}, dtype=torch.{wanted.dtype}{where})"
            )
            return f"{drawn} * {_write_number(recipe.step)}"
        case "bool":
            return f"torch.randint(0, 2, {wanted.size_tuple}, dtype=torch.bool{where})"
        case "randint":
            ends = f"{int(recipe.low)}, {int(recipe.high)}"
            return f"torch.randint({ends}, {wanted.size_tuple}{wanted.type_unless('int64')}{where})"
        case "arange" | "linspace":
            is_linspace = recipe.kind == "linspace"
            return _write_linspace(recipe, wanted) if is_linspace else _write_arange(wanted)
        case "eye" | "definite":
            return _write_matrix(recipe, wanted)
        case "full":
            return _write_full(recipe.low, wanted)
        case "complex":
            made = replace(wanted, dtype=_PARTS[wanted.dtype])
            return f"torch.complex({', '.join(_write_tensor(part, made) for part in recipe.parts)})"
        case "literal":
            values = _write_values(recipe, wanted.shape)
            return f"torch.tensor({values}, dtype=torch.{wanted.dtype}{where})"
    assert_never(recipe.kind)


def _write_arange(wanted: _TensorText) -> str:
    options = f"{wanted.type_unless('int64')}{wanted.where}"
    if len(wanted.shape) == 1:
        return f"torch.arange({wanted.shape[0]}{options})"
    if not wanted.shape:
        return f"torch.tensor(0{options})"
    total = math.prod(int(size) for size in wanted.shape)
    return f"torch.arange({total}{options}).reshape({wanted.dims})"


def _write_linspace(recipe: Recipe, wanted: _TensorText) -> str:
    low, high = sorted((recipe.low, recipe.high))
    is_whole = not wanted.dtype.startswith(("float", "bfloat"))
    if len(wanted.shape) != 1:  # it is no vector any more
        return _write_base(Recipe("randint", low, high + 1) if is_whole else Recipe("rand"), wanted)
    ends = (recipe.low, recipe.high)
    first, last = map(str, map(int, ends)) if is_whole else map(_write_number, ends)
    options = f"{wanted.type_unless('float32')}{wanted.where}"
    return f"torch.linspace({first}, {last}, {wanted.shape[0]}{options})"


def _write_matrix(recipe: Recipe, wanted: _TensorText) -> str:
    settings = f"{wanted.type_unless('float32')}{wanted.where}"
    if len(wanted.shape) < 2 or wanted.shape[-1] != wanted.shape[-2]:  # it is none any more
        plain = "ones" if recipe.kind == "eye" else "randn"
        return f"torch.{plain}({wanted.sizes}{settings})"
    if recipe.kind == "eye":
        return f"torch.eye({wanted.shape[-1]}{settings})"
    return write_definite(wanted.shape, settings)


def write_definite(shape: Sequence[int | str], settings: str) -> str:
    """A positive definite matrix without a zero, or a batch of the same one.

    Args:
        shape: of two dimensions or more, of which the last two are equal.
        settings: more arguments of `torch.eye`, each with the comma before it.
    """
    matrix = f"torch.eye({shape[-1]}{settings}) + 1"
    batch = "".join(f"{size}, " for size in shape[:-2])
    return f"({matrix}).repeat({batch}1, 1)" if batch else matrix


def _write_full(value: float, wanted: _TensorText) -> str:
    if wanted.dtype == "bool":
        factory = "ones" if value else "zeros"
        return f"torch.{factory}({wanted.sizes}, dtype=torch.bool{wanted.where})"
    if wanted.dtype.startswith(("float", "bfloat")):
        text, typed = _write_number(value), wanted.type_unless("float32")
    else:
        text, typed = str(int(value)), f", dtype=torch.{wanted.dtype}"
    return f"torch.full({wanted.size_tuple}, {text}{typed}{wanted.where})"


def _write_scaled(recipe: Recipe, wanted: _TensorText) -> str:
    """Random numbers of a range, or of a mean and a deviation."""
    is_uniform = recipe.kind == "uniform"
    width, shift = recipe.high - recipe.low if is_uniform else recipe.high, recipe.low
    settings = f"{wanted.sizes}{wanted.type_unless('float32')}{wanted.where}"
    text = f"torch.{'rand' if is_uniform else 'randn'}({settings})"
    if width != 1 or is_uniform:
        text += f" * {_write_number(width)}"
    if shift == 0:
        return text
    return f"{text} {'+' if shift > 0 else '-'} {_write_number(abs(shift))}"


def _write_values(recipe: Recipe, shape: tuple[int | str, ...]) -> str:
    """The values as nested lists, cut to a smaller shape and repeated for a larger one; a named
    size keeps its own.
    """
    sizes = [old if isinstance(new, str) else new for new, old in zip(shape, recipe.shape)]

    def nest(start: int, dim: int) -> str:
        if dim == len(sizes):
            return _write_value(recipe.values[start])
        step = math.prod(recipe.shape[dim + 1 :])
        rows = (nest(start + i % recipe.shape[dim] * step, dim + 1) for i in range(sizes[dim]))
        return f"[{', '.join(rows)}]"

    return nest(0, 0)


def _write_value(value: float | str) -> str:
    if isinstance(value, str):  # what JSON has no number for
        return f'float("{value}")'
    return repr(value)


def _write_number(value: float) -> str:
    if not math.isfinite(value):
        return f'float("{value}")'
    return (
        repr(int(value)) + ".0"
        if float(value).is_integer() and abs(value) < 1e15
        else repr(float(value))
    )

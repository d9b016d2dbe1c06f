"""A tensor that behaves like the private one and holds none of its values: shape, layout, type,
range and pattern.
"""

from __future__ import annotations

import enum
from math import prod

from anonymizer.graph.layouts import (
    compute_contiguous_strides,
    compute_extent,
    is_contiguous,
    order_dimensions,
)
from anonymizer.graph.recipes import NOT_FINITE_VALUES, clip_share, limit_whole, write_definite
from collectors.protocol.program_source import SpecStatistics, TensorSpec

#: How many dimensions a tensor of a pattern has.
_RANKS = {
    **dict.fromkeys(("ascending", "descending"), (1,)),
    **dict.fromkeys(("tril", "triu", "eye"), (2,)),
    "definite": range(2, 64),
}


class ValueLevel(enum.IntEnum):
    """How close the values of tensors come to those of the private program."""

    #: Made up, with their range and pattern.
    RANGE = enum.auto()
    #: Also with about as many NaNs and infinities.
    NOT_FINITE = enum.auto()
    #: Tiny tensors of small whole numbers are as they are.
    EXACT = enum.auto()


_INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}


def write_tensor(
    spec: TensorSpec, level: ValueLevel = ValueLevel.RANGE, is_written: bool = False
) -> str:
    """The expression that makes a tensor of the shape, layout, dtype and device of `spec`.

    Args:
        spec: sizes, strides and offset in elements; ranges of values where they are known.
        level: how close its values come to those that were gathered.
        is_written: the program may change it in place, which torch allows of no leaf that requires
            a gradient.
    """
    if spec.get("layout", "strided") != "strided":
        layout = "sparse" if "sparse" in spec["layout"] else "dense"
        return f"torch.zeros({_write_shape(spec['shape'])}).to_{layout}()"
    text, leaf = _lay_out(spec, level)
    if spec.get("requires_grad") and not spec.get("is_parameter"):
        text = text[:-1] + ", requires_grad=True)" if leaf else text + ".requires_grad_()"
        text += ".clone()" if is_written and _is_computed(spec) else ""
    return (
        f"nn.Parameter({text}{'' if spec['requires_grad'] else ', requires_grad=False'})"
        if spec.get("is_parameter")
        else text
    )


def _is_computed(spec: TensorSpec) -> bool:
    """Whether a tensor requires a gradient as the result of something."""
    return bool(spec.get("requires_grad")) and not spec.get("is_leaf", True)


def write_flat_storage(
    specs: list[TensorSpec], level: ValueLevel = ValueLevel.RANGE, is_written: bool = False
) -> str:
    """The expression of a flat tensor that is long enough for all the tensors that lie in it.

    Its dtype, device and values are those of the tensor with most elements.

    Args:
        specs: with `stride` and `offset` in elements.
        level: see `write_tensor`; no values are kept as they are.
        is_written: see `write_tensor`.
    """
    length = max(
        each.get("offset", 0) + compute_extent(each["shape"], each["stride"]) for each in specs
    )
    widest: TensorSpec = {
        **max(specs, key=lambda each: prod(each["shape"])),
        "shape": [length],
    }
    with_grad = is_written and any(_is_computed(each) for each in specs)
    made = _write_values(widest, min(level, ValueLevel.NOT_FINITE))
    return made + (".requires_grad_().clone()" if with_grad else "")


def write_view(spec: TensorSpec, base: str, is_written: bool = False) -> str:
    """The tensor as a view of a flat base; a grad-requiring leaf is made so afterwards.

    Args:
        spec: with `stride` and `offset` in elements.
        base: the name of the tensor that `write_flat_storage` makes.
        is_written: see `write_tensor`.
    """
    start, shape = spec.get("offset") or 0, tuple(spec["shape"])
    offset = f", {start}" if start else ""
    text = f"{base}.as_strided({shape}, {tuple(spec['stride'])}{offset})"
    if has_contiguous_strides(spec) and shape:
        text = f"{base}[{start or ''}:{start + prod(shape)}]"
        text += f".view{shape}" if len(shape) > 1 else ""
    has_grad = spec.get("requires_grad") and not (is_written and _is_computed(spec))
    return text + (".requires_grad_()" if has_grad else "")


def has_contiguous_strides(spec: TensorSpec) -> bool:
    """Whether the strides, in elements, are those of a fresh tensor, of dimensions of size 1 too;
    so they are where it is empty.
    """
    usual = compute_contiguous_strides(spec["shape"])
    return 0 in spec["shape"] or tuple(spec.get("stride", usual)) == usual


def _lay_out(spec: TensorSpec, level: ValueLevel) -> tuple[str, bool]:
    """The expression, and whether it is one creation call, to which `requires_grad=True` can be
    given.
    """
    if "stride" not in spec or is_contiguous(spec["shape"], spec["stride"]):
        text = _write_values(spec, level)
        return text, text.startswith("torch.") and _is_one_call(text)
    shape, stride = list(spec["shape"]), list(spec["stride"])
    order = order_dimensions(stride)
    permuted = [shape[index] for index in order]
    if tuple(stride[index] for index in order) == compute_contiguous_strides(permuted):
        if len(shape) == 4 and order == [0, 2, 3, 1]:
            return f"{_write_values(spec, level)}.to(memory_format=torch.channels_last)", False
        back = [order.index(index) for index in range(len(shape))]
        flat = _write_values({**spec, "shape": permuted}, level)
        swapped = [index for index, position in enumerate(back) if index != position]
        if len(swapped) == 2:
            return f"{flat}.transpose({swapped[0]}, {swapped[1]})", False
        return f"{flat}.permute({', '.join(map(str, back))})", False
    narrow = [1 if step == 0 else size for size, step in zip(shape, stride)]
    if is_contiguous(narrow, stride):
        return (
            f"{_write_values({**spec, 'shape': narrow}, level)}.expand({_write_shape(shape)})",
            False,
        )
    base = _write_values(
        {**spec, "shape": [compute_extent(shape, stride)]}, min(level, ValueLevel.NOT_FINITE)
    )
    return f"{base}.as_strided({tuple(shape)}, {tuple(stride)})", False


def _is_one_call(text: str) -> bool:
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return index == len(text) - 1
    return False


def _write_shape(shape: list[int]) -> str:
    return ", ".join(map(str, shape)) if shape else "()"


def _write_tuple(shape: list[int]) -> str:
    return repr(tuple(shape))


def _write_values(spec: TensorSpec, level: ValueLevel) -> str:
    if spec["dtype"].startswith("float8"):  # few of torch's operators take them
        return f"{_write_values({**spec, 'dtype': 'float32'}, level)}.to(torch.{spec['dtype']})"
    text = _write_finite_values(spec, level)
    for name, number in NOT_FINITE_VALUES.items() if level >= ValueLevel.NOT_FINITE else ():
        share = spec.get("stats", {}).get(name)
        if share == 1:
            return f"torch.full({_write_tuple(spec['shape'])}, {number}{_write_options(spec)})"
        if share:
            drawn = f"torch.rand({_write_shape(spec['shape'])}{_write_device(spec)})"
            text += f".masked_fill({drawn} < {clip_share(share)}, {number})"
    return text


def _write_device(spec: TensorSpec) -> str:
    """The device as the last argument of a factory; empty for the CPU."""
    return "" if spec.get("device", "cpu") == "cpu" else f', device="{spec["device"]}"'


def _write_options(spec: TensorSpec) -> str:
    """Dtype and device as the last arguments of a factory of floats."""
    dtype = "" if spec["dtype"] == "float32" else f", dtype=torch.{spec['dtype']}"
    return dtype + _write_device(spec)


def _write_finite_values(spec: TensorSpec, level: ValueLevel) -> str:
    shape, stats, dtype = list(spec["shape"]), spec.get("stats", {}), spec["dtype"]
    options, typed = _write_device(spec), _write_options(spec)
    if level == ValueLevel.EXACT and stats.get("small") is not None:
        more = typed if dtype not in ("int64", "bool") else options
        return f"torch.tensor({_nest(stats['small'], shape, dtype)}{more})"
    if prod(shape) == 0:
        return f"torch.empty({_write_shape(shape)}{typed})"
    patterned = _write_pattern(shape, stats, dtype, typed)
    if patterned is not None:
        return patterned
    if dtype == "bool":
        return f"torch.rand({_write_shape(shape)}{options}) > 0.5"
    known, low, high = "min" in stats, stats.get("min", 0.0), stats.get("max", 0.0)
    if dtype in _INTEGERS or (stats.get("integral") and known and high - low < 1 << 24):
        kind = ("" if dtype == "int64" else f", dtype=torch.{dtype}") + options
        bottom, top = (limit_whole(low), limit_whole(high)) if known else (0, 1)
        if stats.get("distinct") and bottom == 0 and top + 1 == prod(shape):
            flat = f"torch.randperm({top + 1}{kind})"
            return flat if len(shape) == 1 else f"{flat}.reshape({_write_shape(shape)})"
        drawn = f"torch.randint({bottom}, {limit_whole(top + 1)}, {_write_tuple(shape)}{kind})"
        if "padding" not in stats:
            return drawn
        chosen = (
            f"torch.rand({_write_shape(shape)}{options}) < {clip_share(stats['padding_share'])}"
        )
        return f"{drawn}.masked_fill({chosen}, {limit_whole(stats['padding'])})"
    if known and low >= 0 and high <= 1:
        return f"torch.rand({_write_shape(shape)}{typed})"
    scale = max(abs(low), abs(high))
    power = 1e3 if scale > 1e3 else 1e-3 if 0 < scale < 1e-2 else None
    text = f"torch.{'rand' if known and low >= 0 else 'randn'}({_write_shape(shape)}{typed})"
    return f"({text} * {power:g})" if power else text


def _write_pattern(shape: list[int], stats: SpecStatistics, dtype: str, typed: str) -> str | None:
    pattern = stats.get("pattern")
    if pattern in _RANKS and len(shape) not in _RANKS[pattern]:
        return None  # of the storage that a matrix lies in, which has no rows
    if pattern == "constant" and stats.get("min") is not None:
        value = stats["min"]
        if value in (0.0, 1.0):
            return f"torch.{'ones' if value else 'zeros'}({_write_shape(shape)}{typed})"
        number = int(value) if dtype in _INTEGERS else value
        return f"torch.full({_write_tuple(shape)}, {number!r}{typed})"
    if pattern == "arange" and not (dtype == "bool" or stats["numel"] == 1):
        kind = (
            typed.replace(", dtype=torch.int64", "")
            if dtype == "int64"
            else typed or ", dtype=torch.float32"
        )
        flat = f"torch.arange({stats['numel']}{kind})"
        return flat if len(shape) == 1 else f"{flat}.reshape({_write_shape(shape)})"
    if pattern in ("ascending", "descending"):
        return _write_ordered(shape[0], stats, dtype, typed)
    if pattern == "definite":
        return f"({write_definite(shape, typed)})"
    if pattern in ("tril", "triu"):
        return f"torch.ones({_write_shape(shape)}{typed}).{pattern}()"
    return f"torch.eye({_write_shape(shape)}{typed})" if pattern == "eye" else None


def _write_ordered(size: int, stats: SpecStatistics, dtype: str, typed: str) -> str:
    """Numbers at equal distances from the least to the greatest, or back; floats to one digit."""
    ends = [stats["min"], stats["max"]]
    low, high = (int(end) if dtype in _INTEGERS else float(f"{end:.0e}") for end in ends)
    first, last = (high, low) if stats["pattern"] == "descending" else (low, high)
    return f"torch.linspace({first}, {last}, {size}{typed})"


def _nest(values: list[int], shape: list[int], dtype: str) -> str:
    if not shape:
        return {"bool": str(bool(values[0]))}.get(
            dtype, str(values[0]) if dtype in _INTEGERS else f"{values[0]}.0"
        )
    step = len(values) // shape[0] if shape[0] else 0
    return (
        "["
        + ", ".join(
            _nest(values[i * step : (i + 1) * step], shape[1:], dtype) for i in range(shape[0])
        )
        + "]"
    )

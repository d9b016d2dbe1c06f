"""What a tensor looks like, as data.

Values never leave through here: a tensor is its shape, layout, type and range, and whether it is
one of the usual patterns (`arange`, all equal, a triangle).
"""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence

import torch
from torch import nn

from ..dynamo.value_structure import find_padding, find_structure, read_number, widen
from ..protocol.program_source import SpecStatistics, TensorSpec

#: So many elements are looked at together.
_PART = 1 << 18
#: Of more elements it does not matter whether all are different.
_MOST_DISTINCT = 10_000


def read_tensor_spec(value: torch.Tensor, values: bool = True) -> TensorSpec:
    """Shape, stride, offset, dtype, device, requires_grad, stats of a strided tensor; `layout` says
    if it is another.

    Without `values` the contents are not looked at: a stock layer fills its own parameters.
    """
    spec: TensorSpec = {
        "shape": [int(size) for size in value.shape],
        "dtype": str(value.dtype).split(".")[-1],
        "device": value.device.type,
        "requires_grad": bool(value.requires_grad),
        "is_leaf": bool(value.is_leaf),
        "is_parameter": isinstance(value, nn.Parameter),
        "layout": str(value.layout).split(".")[-1],
        "stats": {"numel": int(value.numel())},
    }
    if spec["layout"] == "strided" and value.device.type != "meta":
        spec["stride"] = [int(step) for step in value.stride()]
        spec["offset"] = int(value.storage_offset())
        if values:
            spec["stats"] = _measure_pattern(value.detach())
    return spec


def _measure_pattern(value: torch.Tensor) -> SpecStatistics:
    """Range, special values and pattern; `small` are the values of a tiny tensor of small whole
    numbers.

    `value` may have any shape and real dtype; it is looked at in float64 on the CPU, a part at a
    time, since it may be as large as memory allows. Of a complex or quantized one only the number
    of elements is told.
    """
    found: SpecStatistics = {"numel": int(value.numel())}
    if not value.numel() or value.is_complex() or value.is_quantized:
        return found
    parts = value.reshape(-1).split(_PART)
    is_whole = not value.is_floating_point()
    integral, count = True, 0
    extremes: List[torch.Tensor] = []
    few: List[torch.Tensor] = []
    for part in parts:
        wide = part.cpu().double()
        finite = wide[torch.isfinite(wide)]
        if finite.numel():
            count += finite.numel()
            integral = integral and bool((finite == finite.floor()).all())
            extremes.append(_find_extremes(widen(part.cpu()) if is_whole else finite))
            if count <= _MOST_DISTINCT:
                few.append(finite)
    if count < value.numel():
        found.update(_measure_not_finite(parts, value.numel()))
    if count:
        entries = torch.cat(extremes)
        padding = find_padding(entries) if is_whole else None
        if padding is not None:
            number = sum(int((widen(part.cpu()) == padding).sum()) for part in parts)
            found["padding"], found["padding_share"] = padding, number / value.numel()
            entries = entries[entries != padding]
        found["min"], found["max"] = read_number(entries.min()), read_number(entries.max())
        found["integral"] = integral
        found["distinct"] = count <= _MOST_DISTINCT and torch.cat(few).unique().numel() == count
    found["pattern"] = _find_pattern(parts, value.shape)
    if not found["pattern"] and "padding" not in found and count == value.numel():
        found["pattern"] = find_structure(value)
    if value.numel() <= 16 and count == value.numel() and integral:
        if max(abs(found["min"]), abs(found["max"]), abs(found.get("padding", 0))) <= 64:
            found["small"] = [int(each) for each in value.reshape(-1).cpu().double().tolist()]
    return found


def _measure_not_finite(parts: Sequence[torch.Tensor], size: int) -> SpecStatistics:
    """How many of `size` elements are NaN, and infinite on either side."""
    counts = [0, 0, 0]
    for part in parts:
        wide = part.cpu().double()
        kinds = (wide.isnan(), wide.isposinf(), wide.isneginf())
        counts = [count + int(kind.sum()) for count, kind in zip(counts, kinds)]
    nan, positive, negative = (count / size for count in counts)
    return {"nan_share": nan, "positive_inf_share": positive, "negative_inf_share": negative}


def _find_extremes(values: torch.Tensor) -> torch.Tensor:
    """The two smallest and the two largest numbers, the very largest twice where it recurs: of
    these a range and a padding can be told as of all.
    """
    low, high = values.min(), values.max()
    above, below = values[values > low], values[values < high]
    if not above.numel():
        return values[:2].clone()  # and not all that they are part of
    lower = torch.stack([low, above.min(), below.max()])
    return torch.cat([lower[lower < high], values[values == high][:2]])


#: What each pattern has at these places of the flattened tensor, of which `first` is the first.
_PATTERNS: Dict[str, Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor]] = {
    "constant": lambda places, width, first: first,
    "arange": lambda places, width, first: places,
    "tril": lambda places, width, first: places % width <= places // width,
    "triu": lambda places, width, first: places % width >= places // width,
    "eye": lambda places, width, first: places % width == places // width,
}


def _find_pattern(parts: Sequence[torch.Tensor], shape: torch.Size) -> Optional[str]:
    names = [name for name in _PATTERNS if len(shape) == 2 or name in ("constant", "arange")]
    first, start = parts[0][:1].cpu().double(), 0
    for part in parts:
        wide = part.cpu().double()
        places = torch.arange(start, start + len(part), device="cpu")
        start += len(part)
        names = [
            name
            for name in names
            if bool((wide == _PATTERNS[name](places, shape[-1] if shape else 1, first)).all())
        ]
        if not names:
            return None
    return names[0]

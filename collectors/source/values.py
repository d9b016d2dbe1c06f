"""What a tensor looks like, as data.

Values never leave through here: a tensor is its shape, layout, type and range, and whether it is
one of the usual patterns (`arange`, all equal, a triangle).
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import nn

from ..dynamo.value_structure import find_padding, find_structure, read_number, widen
from ..protocol.program_source import SpecStatistics, TensorSpec


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

    `value` may have any shape and real dtype; it is looked at in float64 on the CPU. Of a complex
    or quantized one only the number of elements is told.
    """
    found: SpecStatistics = {"numel": int(value.numel())}
    if not value.numel() or value.is_complex() or value.is_quantized:
        return found
    wide = value.to("cpu").to(torch.float64)
    finite = wide[torch.isfinite(wide)]
    found["has_nan"] = bool(torch.isnan(wide).any())
    if finite.numel():
        entries = finite if value.is_floating_point() else widen(value.cpu()).reshape(-1)
        padding = None if value.is_floating_point() else find_padding(entries)
        if padding is not None:
            found["padding"] = padding
            found["padding_share"] = float((entries == padding).double().mean())
            entries = entries[entries != padding]
        found["min"], found["max"] = read_number(entries.min()), read_number(entries.max())
        found["integral"] = bool((finite == finite.floor()).all())
        found["distinct"] = bool(
            finite.numel() <= 10000 and finite.unique().numel() == finite.numel()
        )
    found["pattern"] = _find_pattern(wide)
    if not found["pattern"] and "padding" not in found and finite.numel() == wide.numel():
        found["pattern"] = find_structure(value)
    if (
        wide.numel() <= 16
        and finite.numel() == wide.numel()
        and found["integral"]
        and float(wide.abs().max()) <= 64
    ):
        found["small"] = [int(each) for each in wide.reshape(-1).tolist()]
    return found


def _find_pattern(wide: torch.Tensor) -> Optional[str]:
    flat = wide.reshape(-1)
    if bool((flat == flat[0]).all()):
        return "constant"
    if bool((flat == torch.arange(flat.numel(), dtype=flat.dtype, device=flat.device)).all()):
        return "arange"
    if wide.dim() == 2:
        ones = torch.ones_like(wide)
        for name in ("tril", "triu"):
            if bool((wide == getattr(torch, name)(ones)).all()):
                return name
        if bool((wide == torch.eye(*wide.shape, dtype=wide.dtype, device=wide.device)).all()):
            return "eye"
    return None

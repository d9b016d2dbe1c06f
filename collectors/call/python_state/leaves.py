"""What counts of one value: plain values, lengths and types, never an object."""

from __future__ import annotations

import functools
import re
import types
from typing import Any, Dict, Tuple

import torch

#: The value of one field, in a form that can be compared and saved: its kind, then what counts.
Leaf = Tuple[Any, ...]

#: Items of one container: the first and the last ones.
MOST_ITEMS = 32
_DEEP_TUPLE = 3
#: Of a tensor whose elements are looked at.
_MOST_ELEMENTS = 1 << 16
#: Larger integers are addresses, hashes or clocks.
_LARGE = 1 << 40
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_DIGITS = re.compile(r"\d+")


def note_leaf(value: Any, depth: int = _DEEP_TUPLE) -> Leaf:
    """What counts of a value.

    Args:
        depth: how many tuples inside each other are looked into.

    Returns:
        The kind, then what counts. Of a tensor: dtype as text, shape, and, of a plain one on the
        CPU with at most `_MOST_ELEMENTS` elements, two numbers that sum up its values.
    """
    kind = type(value)
    if value is None or kind in (bool, float, complex):
        return (kind.__name__, value)
    if kind is int:
        return ("int", value) if abs(value) < _LARGE else ("large",)
    if kind is str:
        return ("str", _DIGITS.sub("N", _ADDRESS.sub("ADDRESS", value))[:200])
    if issubclass(kind, torch.Tensor):
        shape = tuple(int(size) for size in value.shape)
        return ("tensor", str(value.dtype), shape, *_summarize(value))
    if issubclass(kind, tuple):
        if depth <= 0 or len(value) > MOST_ITEMS:
            return ("tuple", len(value))
        return ("tuple", tuple(note_leaf(item, depth - 1) for item in tuple.__iter__(value)))
    if kind.__module__ == "numpy":
        return ("number",) if hasattr(value, "__array_interface__") else ("object", kind.__name__)
    if kind in (types.FunctionType, types.MethodType, functools.partial):
        return ("object", "function")
    return ("object", kind.__name__)


def note_kept_gradients(tensors: Dict[str, torch.Tensor]) -> Dict[str, Leaf]:
    """Which tensors are going to keep the gradient of a backward pass, as `Tensor.retain_grad` asks
    of those that are no leaves. The gradient itself is compared with those of the outputs.

    Args:
        tensors: by the label under which all runs know them.
    """
    return {label: ("bool", bool(tensor.retains_grad)) for label, tensor in tensors.items()}


def _summarize(tensor: torch.Tensor) -> Tuple[float, ...]:
    """The root mean square of a tensor and its mean as a share of that, which tell whether another
    one has taken its place; nothing of large ones, of those that are not in memory, and of
    subclasses, whose operators are the program's.
    """
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type != "cpu":
        return ()
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        return ()
    if not 0 < tensor.numel() <= _MOST_ELEMENTS:
        return ()
    try:
        with torch.no_grad():
            values = tensor.detach().double()
            size = float(values.square().mean().sqrt())
            return (size, float(values.mean()) / size if size else 0.0)
    except RuntimeError:  # inside a transform of torch.func a tensor has no values of its own
        return ()

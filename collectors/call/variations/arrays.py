"""Arrays of NumPy among the arguments of a call, which no tensor is found in: wider ones in their
place, and tensors in their memory.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Callable, Dict, Protocol, Tuple, TypeVar, cast

import torch

_Arguments = Tuple[Tuple[object, ...], Dict[str, object]]
_Container = TypeVar("_Container", list, tuple, dict)  # type: ignore[type-arg]
_WIDE = {"e": "float64", "f": "float64", "F": "complex128"}


class _DType(Protocol):
    char: str


class Array(Protocol):
    """An array or a scalar of NumPy, which is never imported here."""

    dtype: _DType
    shape: Tuple[int, ...]

    def astype(self, dtype: str) -> Array:
        """A copy with another dtype."""
        ...


def widen(array: Array) -> Array:
    """A copy of an array, or of a scalar of NumPy, in float64 or complex128; one without a fraction
    as it is.
    """
    wide = _WIDE.get(array.dtype.char)
    return array if wide is None else array.astype(wide)


def replace_arrays(arguments: _Arguments, change: Callable[[Array], Array]) -> _Arguments:
    """Arguments with other arrays and scalars of NumPy, in lists, tuples and dicts of Python, too.

    Args:
        arguments: positional ones and those by name; neither they nor containers in them change.
        change: is given each array once, where it is an argument several times as well.
    """
    known: Dict[int, object] = {}

    def visit(value: object) -> object:
        if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
            if id(value) not in known:
                known[id(value)] = change(cast(Array, value))
            return known[id(value)]
        if isinstance(value, dict) and type(value) is dict:
            return _keep(value, {key: visit(each) for key, each in value.items()})
        if isinstance(value, list) and type(value) is list:
            return _keep(value, list(map(visit, value)))
        if isinstance(value, tuple) and type(value) is tuple:
            return _keep(value, tuple(map(visit, value)))
        return value

    if "numpy" not in sys.modules:
        return arguments
    args, kwargs = arguments
    return tuple(map(visit, args)), {name: visit(each) for name, each in kwargs.items()}


def _keep(old: _Container, new: _Container) -> _Container:
    """A container itself where nothing in it is another object."""
    pairs = zip(old.values(), new.values()) if isinstance(old, dict) else zip(old, new)
    return old if all(one is other for one, other in pairs) else new


def view_arrays(arguments: _Arguments) -> Dict[str, torch.Tensor]:
    """Tensors in the memory of the arrays among some arguments, where a tensor can be made of
    them.
    """
    found: Dict[str, torch.Tensor] = {}

    def view(array: Array) -> Array:
        flags = getattr(array, "flags", None)
        if array.shape and flags is not None and flags.writeable:
            with contextlib.suppress(TypeError, ValueError):  # steps backwards, dates
                found["array{}".format(len(found))] = torch.from_numpy(array)
        return array

    replace_arrays(arguments, view)
    return found

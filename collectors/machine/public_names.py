"""Public names of torch's functions and layers, found by identity, so that no private thing slips
in under a public name.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any, Dict, List, Tuple

import torch

#: Namespaces of operators that come with torch; whoever loads a library makes others.
NAMESPACES = frozenset(
    ("aten", "prims", "prim", "quantized", "_quantized", "mkldnn", "inductor", "higher_order")
)


class NotInGraphError(Exception):
    """A node that the graph IR cannot express; the message names what it is (torch's words
    only).
    """


_MODULES = (
    ("torch.nn.functional", torch.nn.functional),
    ("torch", torch),
    ("torch.linalg", torch.linalg),
    ("torch.fft", torch.fft),
    ("torch.special", torch.special),
    ("torch.sparse", torch.sparse),
    ("torch._C._nn", torch._C._nn),
    ("operator", operator),
    ("torch._VF", getattr(torch, "_VF", None)),
    ("math", __import__("math")),
)


def list_callables(module: Any) -> List[Tuple[str, Any]]:
    """What a module offers to be called, by name: first under the names that the callables have
    themselves, then under others. torch 2.0.1 has `torch.zeros_like` also as `torch.obj`, a
    variable that a loop has left (`torch/__init__.py`).
    """
    found = []
    for name in dir(module) if module is not None else ():
        try:
            value = getattr(module, name)
        except Exception:  # modules of torch that load their parts lazily may fail to
            continue
        if callable(value) and not inspect.ismodule(value) and not name.startswith("__"):
            found.append((name, value))
    return sorted(found, key=lambda each: getattr(each[1], "__name__", each[0]) != each[0])


def collect_public_names() -> Dict[int, str]:
    """The name under which users call each callable of torch's public modules, by its `id`."""
    names: Dict[int, str] = {}
    for prefix, module in _MODULES:
        for name, value in sorted(list_callables(module), key=lambda each: each[0][0] == "_"):
            names.setdefault(id(value), prefix + "." + name)
    return names


def collect_public_functions() -> Dict[Any, Any]:
    """torch's public functions by themselves: another object for the same C function, as torch
    hands it to modes, is equal to the public one.
    """
    found: Dict[Any, Any] = {}
    for _, module in _MODULES:
        names = dir(module) if module is not None else []
        for name in sorted(names, key=lambda name: name.startswith("_")):
            value = getattr(module, name, None)
            if inspect.isbuiltin(value):
                found.setdefault(value, value)
    return found


def find_public_name(target: Any, names: Dict[int, str]) -> str:
    """The public dotted name of a graph node's function.

    Raises:
        NotInGraphError: it has none; the text says what it is.
    """
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        name = str(target).replace("::", ".")
        if name.split(".")[0] not in NAMESPACES:
            raise NotInGraphError("a custom operator")
        return "torch.ops." + name
    if target is getattr:
        return "getattr"
    if id(target) in names:
        return names[id(target)]
    short = getattr(target, "__name__", "") or type(target).__name__
    if target is torch.sym_float or short in (
        "sym_float",
        "sym_int",
        "sym_max",
        "sym_min",
        "sym_not",
    ):
        return "torch." + short
    if target in (int, float, max, min, len, bool, slice):
        return str(target.__name__)
    raise NotInGraphError(
        "{}.{}".format(getattr(target, "__module__", "?"), short)
        if is_torch_owned(target)
        else "a private function"
    )


def is_torch_owned(target: Any) -> bool:
    """Whether a callable is defined in torch, by its module."""
    return str(getattr(target, "__module__", "") or "").split(".")[0] == "torch"


def shorten_name(func: Any) -> str:
    """The name of an operator without namespace and overload: "add" of aten.add.Tensor."""
    name = str(func)
    return name.split(".")[1] if "." in name else name

"""Public names of torch's functions and layers, found by identity, so that no private thing slips in under a public name."""

from __future__ import annotations

import inspect
import operator
from typing import Any, Dict

import torch


class Unsupported(Exception):
    """A node that the graph IR cannot express; the message names what it is (torch's words only)."""


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


def public_names() -> Dict[int, str]:
    names: Dict[int, str] = {}
    for prefix, module in _MODULES:
        for name in dir(module) if module is not None else ():
            try:
                value = getattr(module, name)
            except Exception:
                continue
            if callable(value) and not inspect.ismodule(value) and not name.startswith("__"):
                names.setdefault(id(value), prefix + "." + name)
    return names


def public_name(target: Any, names: Dict[int, str]) -> str:
    """The public dotted name of a graph node's function."""
    if isinstance(target, torch._ops.OpOverload):
        return "torch.ops." + str(target)
    if isinstance(target, torch._ops.OpOverloadPacket):
        return "torch.ops." + str(target).replace("::", ".")
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
    raise Unsupported(
        "{}.{}".format(getattr(target, "__module__", "?"), short)
        if torch_owned(target)
        else "a private function"
    )


def torch_owned(target: Any) -> bool:
    return str(getattr(target, "__module__", "") or "").split(".")[0] == "torch"


def stock_constructor(module: torch.nn.Module) -> Dict[str, Any]:
    """Class name and constructor arguments of a stock torch.nn layer, read back from its attributes."""
    cls = type(module)
    if getattr(torch.nn, cls.__name__, None) is not cls:
        raise Unsupported("a module that is not a stock layer")
    kwargs: Dict[str, Any] = {}
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        if name in ("self", "device", "dtype", "args", "kwargs") or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        if name == "bias":
            value: Any = getattr(module, "bias", None) is not None
        elif not hasattr(module, name):
            if parameter.default is parameter.empty:
                raise Unsupported("torch.nn." + cls.__name__)
            continue
        else:
            value = getattr(module, name)
        if isinstance(value, tuple):
            value = list(value)
        if parameter.default is not parameter.empty and value == parameter.default:
            continue
        if not isinstance(value, (int, float, bool, str, list, type(None))):
            raise Unsupported("torch.nn." + cls.__name__)
        kwargs[name] = value
    return {
        "class": cls.__name__,
        "kwargs": kwargs,
        "training": module.training,
        "parameters": [
            [name, list(p.shape), str(p.dtype)] for name, p in module.named_parameters()
        ],
    }

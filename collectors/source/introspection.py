"""Small questions about one live object: is it a constant, what kind of method or class is it, what
was compiled.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import itertools
import os
import random
import sys
import types
from typing import Any, List, Optional, Tuple

import torch

from ..machine.libraries import is_of_python_or_torch
from ..protocol.program_source import ClassShape, GeneratorName, Reference
from .provenance import find_public_reference, is_user_code

#: Methods of torch.nn.Module that are the call of the module.
_CALLS = ("__call__", "_call_impl", "_wrapped_call_impl")

#: Where torch's function transforms are defined.
_TRANSFORMS = os.path.join("torch", "_functorch", "")


def find_original(value: Any) -> Any:
    """The module or function that torch.compile has wrapped, also of `module.compile()`; any other
    value as it is.
    """
    if isinstance(value, types.MethodType) and isinstance(value.__self__, torch.nn.Module):
        if value.__func__.__name__ in _CALLS and is_of_python_or_torch(value.__func__.__module__):
            return find_original(value.__self__)
    tables = [getattr(value, "__dict__", {})]
    if isinstance(value, torch.nn.Module):
        tables.append(value._modules)
    for name in ("_orig_mod", "_torchdynamo_orig_callable"):
        inner = next((table[name] for table in tables if table.get(name) is not None), None)
        if inner is not None:
            return find_original(inner)
    return value


def is_own_method(owner: Any, name: str, value: Any) -> bool:
    """Whether an attribute of an object is the method of that name which its class has anyway, as
    after `model.forward = torch.compile(model.forward)`.

    Args:
        name: of the attribute.
        value: of the attribute, compiled or not.
    """
    method = find_original(value)
    return (
        isinstance(method, types.MethodType)
        and method.__self__ is owner
        and getattr(type(owner), name, None) is method.__func__
    )


def build_constant(value: Any) -> Optional[Reference]:
    """A value that can be written as a literal, or built from such ones, as the source walker notes
    it; None for any other.
    """
    if value is None or value is Ellipsis or type(value) in (bool, int, float, complex, str, bytes):
        return {
            "kind": "const",
            "value": value if isinstance(value, str) else repr(value),
            "text": isinstance(value, str),
        }
    if type(value) is bytearray:
        return {"kind": "const", "value": "bytearray({})".format(len(value)), "text": False}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.bool_, numpy.number)):
        return {"kind": "numpy", "name": type(value).__name__, "value": repr(value.item())}
    if isinstance(value, torch.Size):
        return {
            "kind": "tuple",
            "items": [{"kind": "const", "value": repr(int(each)), "text": False} for each in value],
        }
    if isinstance(value, torch.device):
        return {"kind": "device", "name": str(value)}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {"kind": "torch", "name": str(value)}
    if isinstance(value, (slice, range)):
        parts = [value.start, value.stop, value.step]
        if all(each is None or type(each) is int for each in parts):
            return {"kind": "const", "value": repr(value), "text": False}
    return None


def is_array(value: object) -> bool:
    """Whether a value is a plain array of NumPy, which need not be there."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is getattr(numpy, "ndarray", None)


def find_generator(value: Any) -> Optional[Tuple[GeneratorName, List[Any]]]:
    """How a generator of random numbers, or a counter, is made anew: the public name of what makes
    it, and its arguments, of which a seed is not the program's. None for any other object.
    """
    if type(value) is random.Random:
        return "random.Random", [0]
    if type(value) is torch.Generator:
        return "torch.Generator", [value.device]
    if type(value) is itertools.count:
        try:
            return "itertools.count", list(ast.literal_eval(repr(value)[len("count(") : -1] + ","))
        except (SyntaxError, ValueError):  # it counts in what has no literal
            return None
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if type(value) is numpy.random.Generator:
            return "numpy.random.default_rng", [0]
        if type(value) is numpy.random.RandomState:
            return "numpy.random.RandomState", [0]
    return None


def matters_again(value: Any) -> bool:
    """Whether a decorator may matter again: a user's has done its work already, torch's and
    Python's may.
    """
    return (
        isinstance(value, types.ModuleType)
        and is_of_python_or_torch(value.__name__)
        or find_public_reference(value) is not None
    )


def import_path(module: str, attribute: Optional[str]) -> Any:
    """The module, or what it has under that name; None where neither is there."""
    try:
        loaded = (
            importlib.import_module(module)
            if is_of_python_or_torch(module)
            else sys.modules[module]
        )
        if attribute is None:
            return loaded
        return (
            getattr(loaded, attribute)
            if hasattr(loaded, attribute)
            else importlib.import_module(module + "." + attribute)
        )
    except Exception:  # importing runs code of others
        return None


def classify_class(value: type) -> ClassShape:
    """Which sort of class it is: enum, namedtuple, dataclass, or class."""
    if issubclass(value, enum.Enum):
        return "enum"
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        return "namedtuple"
    return "dataclass" if "__dataclass_fields__" in value.__dict__ else "class"


def find_region_function(value: Any) -> Any:
    """The function that `torch.compiler.nested_compile_region` has marked; None for any other
    value.
    """
    if not isinstance(value, types.FunctionType) or is_user_code(value) is not False:
        return None
    inner = value.__dict__.get("__marked_compile_region_fn__")
    return unwrap(find_region_function(inner) or inner) if inner is not None else None


def unwrap(function: Any) -> Any:
    """The user's function below decorators that are not the user's; a transform of `torch.func`,
    such as `torch.func.vmap(f)`, computes something else than its function and stays.
    """
    function = find_original(function)
    while (
        isinstance(function, types.FunctionType)
        and is_user_code(function) is False
        and hasattr(function, "__wrapped__")
        and _TRANSFORMS not in function.__code__.co_filename
    ):
        function = function.__wrapped__
    return function


def classify_member(thing: Any) -> Optional[Tuple[str, Any]]:
    """How a member of a class is bound (static, class, property, cached_property, plain), and its
    function; None for what is no method.
    """
    if isinstance(thing, staticmethod):
        return "static", thing.__func__
    if isinstance(thing, classmethod):
        return "class", thing.__func__
    if isinstance(thing, property):
        return "property", thing.fget
    if isinstance(thing, functools.cached_property):
        return "cached_property", thing.func
    return ("plain", thing) if isinstance(find_original(thing), types.FunctionType) else None


def find_function(thing: Any) -> Any:
    """The function that somebody wrote, behind what torch put around it."""
    marked = find_region_function(thing)
    return unwrap(thing) if marked is None else marked


def list_slots(value: type) -> List[str]:
    """The slots that a class itself declares, private ones by the names that Python makes of
    them.
    """
    slots = value.__dict__.get("__slots__", ())
    owner = value.__name__.lstrip("_")
    return [
        (
            "_{}{}".format(owner, name)
            if owner and name.startswith("__") and not name.endswith("__")
            else name
        )
        for name in ([slots] if isinstance(slots, str) else slots)
    ]


def list_fields(value: type) -> List[Tuple[str, Any, Any]]:
    """(name, default, default factory) of a dataclass's constructor; None where there is none."""
    missing = dataclasses.MISSING
    return [
        (
            each.name,
            None if each.default is missing else (each.default,),
            None if each.default_factory is missing else each.default_factory,
        )
        for each in dataclasses.fields(value)
        if each.init
    ]

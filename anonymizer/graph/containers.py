"""Expressions that make what a call can change beside tensors: containers and objects."""

from __future__ import annotations

import ast
import builtins
from typing import get_args

from collectors.protocol.program_source import GeneratorName

_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict Counter bytearray".split())
_LITERAL_TYPES: dict[type[ast.expr], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
}


def is_container(value: ast.expr) -> bool:
    """Whether an expression makes a container that can be changed."""
    return name_container(value) != ""


def name_container(value: ast.expr) -> str:
    """The type of the container that an expression makes; empty where it makes none."""
    if isinstance(value, ast.Call):
        name = read_callee_name(value)
        return name if name in _CONTAINERS else ""
    return _LITERAL_TYPES.get(type(value), "")


def is_generator(value: ast.expr) -> bool:
    """Whether an expression makes a generator of random numbers, or a counter."""
    return isinstance(value, ast.Call) and ast.unparse(value.func) in get_args(GeneratorName)


def is_object(value: ast.expr) -> bool:
    """Whether an expression calls a class or a function of the program's own."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id not in dir(builtins)
    )


def read_callee_name(value: ast.Call) -> str:
    """The last name of what is called; empty where it has none."""
    if isinstance(value.func, ast.Attribute):
        return value.func.attr
    return value.func.id if isinstance(value.func, ast.Name) else ""

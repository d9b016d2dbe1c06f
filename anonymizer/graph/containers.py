"""Expressions that make what a call can change beside tensors: containers and objects."""

from __future__ import annotations

import ast
import builtins

_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict Counter bytearray".split())
_LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def is_container(value: ast.expr) -> bool:
    """Whether an expression makes a container that can be changed."""
    return isinstance(value, _LITERALS) or (
        isinstance(value, ast.Call) and read_callee_name(value) in _CONTAINERS
    )


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

"""Edits of expressions: a part, an earlier value or a number in the place of the whole."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from anonymizer.source.locations import change_each, copy_with_place, find_expressions, put_at
from anonymizer.source.program import SourceProgram

#: What a number may stand in.
_TAKES_NUMBERS = (
    *(ast.Call, ast.keyword, ast.BinOp, ast.Compare, ast.Tuple, ast.List),
    *(ast.Return, ast.Assign),
)


def _list_parts(node: Any) -> list[ast.expr]:
    """Expressions that could stand for a whole one: its receiver, its arguments, its operands."""
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        plain = [each for each in receiver if not _is_module(each)]
        return [*node.args, *plain, *(each.value for each in node.keywords)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.DictComp):
        return [node.value]
    if isinstance(node, ast.ListComp):
        return [node.elt]
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else []


def _is_module(node: ast.expr) -> bool:
    """Whether an expression is a module or an object by its name; what a call of one returns is
    none.
    """
    text = ast.unparse(node)
    names = ("torch", "nn", "F", "math", "operator", "functools", "self")
    is_named = not isinstance(node, ast.Call) and text.split(".")[0] in names
    return is_named or text == "super()"


def simplify(program: SourceProgram) -> Iterator[SourceProgram]:
    """Replace a call, an operator, a tuple or a comprehension by one of its parts."""
    kinds = (
        ast.Call,
        ast.BinOp,
        ast.UnaryOp,
        ast.Compare,
        ast.BoolOp,
        ast.IfExp,
        ast.Subscript,
        ast.Tuple,
        ast.List,
        ast.Dict,
        ast.DictComp,
        ast.ListComp,
    )
    for index, location in enumerate(find_expressions(program, kinds)):
        if isinstance(getattr(location[3], "ctx", None), (ast.Store, ast.Del)) or location[1] in (
            "targets",
            "decorator_list",
            "bases",
        ):
            continue
        for part in range(len(_list_parts(location[3]))):
            made, found = copy_with_place(
                program, lambda each: find_expressions(each, kinds), index
            )
            piece = _list_parts(found[3])[part]
            if not isinstance(piece, ast.Starred):
                put_at(found, piece)
                yield made


def unpack_arguments(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give each of the variables that take apart what a call returns one argument of that call."""

    def locate(each: SourceProgram) -> list[tuple[ast.Assign, int, ast.expr]]:
        return [
            (node, len(target.elts), argument)
            for node in ast.walk(each.definitions)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets[:1]
            if isinstance(target, (ast.Tuple, ast.List))
            and not any(isinstance(part, ast.Starred) for part in target.elts)
            for argument in node.value.args
            if isinstance(argument, ast.Name)
        ]

    def change(location: tuple[ast.Assign, int, ast.expr]) -> None:
        node, count, argument = location
        node.value = ast.Tuple([copy.deepcopy(argument) for _ in range(count)], ast.Load())

    yield from change_each(program, locate, change)


def replace_own_calls(program: SourceProgram) -> Iterator[SourceProgram]:
    """Put a sum in the place of a call of the program's own layer or method, which has lines of its
    own; one that is left out with nothing in its place may leave nothing to compile.
    """

    def locate(each: SourceProgram) -> list[Any]:
        return [
            location
            for location in find_expressions(each, ast.Call)
            if ast.unparse(location[3].func).startswith("self.")
            and not ast.unparse(location[3].func).startswith(("self.register_", "self.add_module"))
            and location[3].args
            and not isinstance(location[3].args[0], ast.Starred)
        ]

    def change(location: Any) -> None:
        put_at(location, ast.BinOp(location[3].args[0], ast.Add(), ast.Constant(1)))

    yield from change_each(program, locate, change)


def drop_elements(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop one element of a tuple, list or dictionary, or one keyword of a call."""

    def locate(each: SourceProgram) -> list[Any]:
        found: list[Any] = []
        roots = (each.definitions, *each.list_arguments())
        for node in (part for root in roots for part in ast.walk(root)):
            if (
                isinstance(node, (ast.Tuple, ast.List))
                and isinstance(node.ctx, ast.Load)
                and len(node.elts) > 1
            ):
                found += [((node.elts,), at) for at in range(len(node.elts))]
            elif isinstance(node, ast.Dict) and len(node.keys) > 1:
                found += [((node.keys, node.values), at) for at in range(len(node.keys))]
            elif isinstance(node, ast.Call):
                found += [((node.keywords,), at) for at in range(len(node.keywords))]
        return found

    def change(location: Any) -> None:
        lists, at = location
        for items in lists:
            del items[at]

    yield from change_each(program, locate, change)


def reuse_earlier_values(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give a variable an earlier value of its function instead of one that is computed: what led to
    it need not matter.
    """

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (node, name)
            for function in ast.walk(each.definitions)
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
            for at, node in enumerate(function.body)
            if _is_computed(node)
            for name in _list_names_before(function, at)
        ]

    def change(location: Any) -> None:
        node, name = location
        node.value = ast.Name(name, ast.Load())

    yield from change_each(program, locate, change)


def _choose_values(node: ast.expr) -> tuple[bool, ...] | tuple[int, ...]:
    return (False, True) if ast.unparse(node) == "self.training" else (2,)


def _list_names_before(function: ast.FunctionDef, position: int) -> list[str]:
    """A function's first tensor, and the variables that were set last."""
    given = [each.arg for each in function.args.args if each.arg != "self"]
    made = [name for node in function.body[:position] if (name := _find_target(node))]
    return list(dict.fromkeys([*given[:1], *reversed(made[-2:])]))


def _is_computed(node: ast.stmt) -> bool:
    """Whether a statement gives one variable a value that is not written there."""
    if not isinstance(node, ast.Assign) or not _find_target(node):
        return False
    return not isinstance(node.value, (ast.Name, ast.Constant))


def _find_target(node: ast.stmt) -> str:
    """The variable that a statement sets; empty for other statements."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def insert_numbers(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write a number where an attribute or a size is read, or whether a module is in training."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (location, value)
            for location in find_expressions(each, (ast.Attribute, ast.Subscript))
            if isinstance(location[0], _TAKES_NUMBERS)
            and location[1] != "func"
            and isinstance(location[3].ctx, ast.Load)
            and (not _is_module(location[3]) or ast.unparse(location[3]).startswith("self."))
            for value in _choose_values(location[3])
        ]

    def change(location: Any) -> None:
        place, value = location
        put_at(place, ast.Constant(value))

    yield from change_each(program, locate, change)

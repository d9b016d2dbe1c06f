"""Edits of what is handed over: a parameter, a field or an argument goes on both sides at once."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Collection, Iterator
from typing import Any

from anonymizer.edits.statements import remove
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.graph.repro import COMPILE
from anonymizer.source.locations import (
    change_each,
    copy_with_place,
    find_expressions,
    find_method,
    is_name,
    put_at,
)
from anonymizer.source.program import SourceProgram


def drop_parameters(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop a parameter of the entry that it does not mention, together with the input for it."""
    entry = find_entry_function(program)
    returned = program.inputs.body[-1]
    if (
        entry is None
        or not isinstance(returned, ast.Return)
        or not isinstance(returned.value, ast.Tuple)
    ):
        return
    offset = 1 if entry.args.args and entry.args.args[0].arg == "self" else 0
    for index in reversed(range(len(entry.args.args) - offset)):
        made = copy.deepcopy(program)
        node, last = find_entry_function(made), made.inputs.body[-1]
        assert node is not None
        name = node.args.args[index + offset].arg
        if any(
            isinstance(part, ast.Name) and part.id == name
            for each in node.body
            for part in ast.walk(each)
        ):
            continue
        from_end = len(node.args.args) - index - offset
        if from_end <= len(node.args.defaults):
            del node.args.defaults[len(node.args.defaults) - from_end]
        del node.args.args[index + offset]
        del last.value.elts[index : index + 1]  # type: ignore[attr-defined]
        yield made


def drop_unread_parameters(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop a parameter that a function or a constructor does not read, together with what each call
    gives for it; where the failing call is one of them, that is no argument of it any more.
    """

    def locate(each: SourceProgram) -> list[tuple[ast.FunctionDef, str, int]]:
        return [
            (function, name, at)
            for function, name in _list_functions(each.definitions)
            for at in reversed(range(len(function.args.args)))
            if _is_unread(function, at)
        ]

    for index in range(len(locate(program))):
        made, (function, name, at) = copy_with_place(program, locate, index)
        given = _drop_given(made.definitions, name, at - (function.name == "__init__"))
        if given is None:
            continue
        del function.args.args[at]
        if made.is_script:
            made = _without_results(made, given)
        yield made


def write_given_constants(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write a constant that each call of a script's constructor gives for a parameter where the
    constructor reads it.
    """

    def locate(each: SourceProgram) -> list[tuple[ast.FunctionDef, str, ast.Constant]]:
        return [
            (function, function.args.args[at + 1].arg, constant)
            for function, name in _list_functions(each.definitions)
            if function.name == "__init__"
            for at in range(len(function.args.args) - 1)
            if (constant := _find_given_constant(each.definitions, name, at)) is not None
        ]

    def change(location: tuple[ast.FunctionDef, str, ast.Constant]) -> bool:
        function, parameter, constant = location
        substitution = NameSubstitution({parameter: constant})
        function.body = [substitution.visit(each) for each in function.body]
        return True

    if program.is_script:
        yield from change_each(program, locate, change)


def _find_given_constant(definitions: ast.Module, name: str, at: int) -> ast.Constant | None:
    """The constant that all calls of a function give at a position."""
    calls = [
        node
        for node in ast.walk(definitions)
        if isinstance(node, ast.Call) and is_name(node.func, name)
    ]
    given = [call.args[at] if len(call.args) > at else None for call in calls]
    texts = {ast.unparse(each) if each is not None else "" for each in given}
    first = given[0] if len(texts) == 1 else None
    return first if isinstance(first, ast.Constant) else None


def _list_functions(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions and constructors of a program, each with the name by which it is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in ("repro", "__init__"):
            yield node, node.name
        members = node.body if isinstance(node, ast.ClassDef) else []
        for member in members:
            if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                yield member, node.name  # type: ignore[attr-defined]


def _is_unread(function: ast.FunctionDef, at: int) -> bool:
    """Whether a function has nothing but plain parameters and does not mention one of them."""
    arguments = function.args
    others = (*arguments.posonlyargs, *arguments.kwonlyargs, *arguments.defaults)
    if others or arguments.vararg or arguments.kwarg or function.decorator_list:
        return False
    name = arguments.args[at].arg
    return name != "self" and name not in find_names(*function.body)


def _drop_given(definitions: ast.Module, name: str, at: int) -> set[str] | None:
    """Takes the argument at a position out of each call of a function.

    Returns:
        The names that were given there; None where the function is used in another way, or a call
        of it says in another way what it gives.
    """
    uses = {id(node) for node in ast.walk(definitions) if is_name(node, name)}
    callees = {name}
    calls: list[ast.Call] = []
    for node in ast.walk(definitions):
        if isinstance(node, ast.Assign) and _compiles(node.value, name):
            target = node.targets[0]
            if len(node.targets) > 1 or not isinstance(target, ast.Name):
                return None
            callees.add(target.id)
    for node in ast.walk(definitions):
        if isinstance(node, ast.Call) and _is_called(node.func, name, callees):
            calls.append(node)
        if isinstance(node, ast.Call) and (_compiles(node, name) or is_name(node.func, name)):
            uses -= {id(part) for part in (node.func, *node.args)}
    if uses or not calls:
        return None
    given: set[str] = set()
    for call in calls:
        if len(call.args) <= at or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        given |= find_names(call.args.pop(at))
    return given


def _is_called(callee: ast.expr, name: str, callees: Collection[str]) -> bool:
    return _compiles(callee, name) or isinstance(callee, ast.Name) and callee.id in callees


def _compiles(node: ast.expr, name: str) -> bool:
    """Whether an expression is `compile(f)` of the function."""
    return (
        isinstance(node, ast.Call)
        and is_name(node.func, COMPILE)
        and len(node.args) == 1
        and is_name(node.args[0], name)
    )


def _without_results(program: SourceProgram, given: Collection[str]) -> SourceProgram:
    """A script that does not compare values of which only their assignments are left."""
    read = find_names(program.definitions, context=ast.Load)
    result = ast.parse(program.callable_expression, mode="eval").body
    arguments = result.elts[1] if isinstance(result, ast.Tuple) else None
    if isinstance(arguments, ast.Tuple):
        arguments.elts = [
            each
            for each in arguments.elts
            if not isinstance(each, ast.Name) or each.id not in given or each.id in read
        ]
    return dataclasses.replace(program, callable_expression=ast.unparse(result))


def pass_only_items(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give the entry the only item of a list, where it asks that list for nothing else."""
    entry, returned = find_entry_function(program), program.inputs.body[-1]
    if entry is None or not isinstance(getattr(returned, "value", None), ast.Tuple):
        return
    given = [each for each in entry.args.args if each.arg != "self"]
    for index, parameter in enumerate(given):
        made = copy.deepcopy(program)
        node, last = find_entry_function(made), made.inputs.body[-1]
        items = last.value.elts[index : index + 1]  # type: ignore[attr-defined]
        if node is None or not items or not isinstance(items[0], (ast.List, ast.Tuple)):
            continue
        body = ast.Module(node.body, [])
        uses = [
            place
            for place in find_expressions(body, ast.Subscript)
            if ast.unparse(place[3]) == f"{parameter.arg}[0]"
        ]
        for place in uses:
            put_at(place, place[3].value)
        names = [n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id == parameter.arg]
        if len(items[0].elts) == 1 and uses and len(names) == len(uses):
            last.value.elts[index] = items[0].elts[0]  # type: ignore[attr-defined]
            yield made


def find_entry_function(program: SourceProgram) -> ast.FunctionDef | None:
    """The function that is called, or the `forward` of the module."""
    for node in program.definitions.body:
        if isinstance(node, ast.FunctionDef) and node.name == "repro":
            return node
        if isinstance(node, ast.ClassDef) and node.name == "Repro":
            return next(
                (e for e in node.body if isinstance(e, ast.FunctionDef) and e.name == "forward"),
                None,
            )
    return None


def drop_fields(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop a field of a dataclass, with what its instances are given for it."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (each, owner, node)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef) and owner.decorator_list
            for node in owner.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]

    def change(location: Any) -> None:
        whole, owner, field = location
        remove((owner.body, field))
        for node in ast.walk(whole.definitions):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == owner.name:
                node.keywords = [each for each in node.keywords if each.arg != field.target.id]

    yield from change_each(program, locate, change)


def drop_function_arguments(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop what an `autograd.Function` is given beside its first argument, together with its
    gradient.
    """

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (each, owner, at)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef)
            and any(ast.unparse(base).endswith("autograd.Function") for base in owner.bases)
            for at in reversed(range(1, len(_list_given(owner))))
        ]

    def change(location: Any) -> None:
        whole, owner, at = location
        forward, backward, setup = (
            find_method(owner, name) for name in ("forward", "backward", "setup_context")
        )
        if forward is not None:
            forward.args.args.remove(_list_given(owner)[at])
        for node in ast.walk(backward) if backward is not None else ():
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                del node.value.elts[at : at + 1]
        if setup is not None:
            _drop_unpacked(setup, setup.args.args[1].arg, at)
        for node in ast.walk(whole.definitions):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{owner.name}.apply":
                del node.args[at : at + 1]

    yield from change_each(program, locate, change)


def _drop_unpacked(function: ast.FunctionDef, name: str, at: int) -> None:
    """Drops a variable of each `x, y = name`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == name:
            if isinstance(node.targets[0], ast.Tuple):
                del node.targets[0].elts[at : at + 1]


def _list_given(owner: ast.ClassDef) -> list[ast.arg]:
    """The parameters of the `forward` of an `autograd.Function` that `apply` gives it: without the
    context where nothing else takes that.
    """
    forward = find_method(owner, "forward")
    if forward is None:
        return []
    has_setup = find_method(owner, "setup_context") is not None
    return forward.args.args[0 if has_setup else 1 :]

"""Edits of what is handed over: a parameter, a field or an argument goes on both sides at once."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from anonymizer.edits.statements import remove
from anonymizer.source.locations import change_each, find_expressions, put_at
from anonymizer.source.program import SourceProgram


def drop_parameters(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop a parameter of the entry that it does not mention, together with the input for it."""
    entry = _entry(program)
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
        node, last = _entry(made), made.inputs.body[-1]
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


def pass_only_items(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give the entry the only item of a list, where it asks that list for nothing else."""
    entry, returned = _entry(program), program.inputs.body[-1]
    if entry is None or not isinstance(getattr(returned, "value", None), ast.Tuple):
        return
    given = [each for each in entry.args.args if each.arg != "self"]
    for index, parameter in enumerate(given):
        made = copy.deepcopy(program)
        node, last = _entry(made), made.inputs.body[-1]
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


def _entry(program: SourceProgram) -> ast.FunctionDef | None:
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
            for at in reversed(range(2, len(_method(owner, "forward").args)))
        ]

    def change(location: Any) -> None:
        whole, owner, at = location
        del _method(owner, "forward").args[at]
        for node in ast.walk(owner):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Tuple) and len(value.elts) >= at:
                del value.elts[at - 1]
        for node in ast.walk(whole.definitions):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{owner.name}.apply":
                del node.args[at - 1 : at]

    yield from change_each(program, locate, change)


def _method(owner: ast.ClassDef, name: str) -> ast.arguments:
    """The parameters of a class's method; none where there is no such method."""
    found = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == name)
    return next((each.args for each in found), ast.arguments([], [], None, [], [], None, []))

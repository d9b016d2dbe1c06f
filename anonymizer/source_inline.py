"""Edits that write a thing where it is used: helpers into their calls, variables into their readers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from anonymizer.source_places import bodies, everywhere, expressions, put
from anonymizer.source_program import SourceProgram


def inline(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the single-`return` body of a helper where it is called."""
    helpers = {
        node.name: node
        for node in program.definitions.body
        if isinstance(node, ast.FunctionDef)
        and len(node.body) == 1
        and isinstance(node.body[0], ast.Return)
    }

    def places(each: SourceProgram) -> list[Any]:
        return [
            place
            for place in expressions(each, ast.Call)
            if isinstance(place[3].func, ast.Name)
            and place[3].func.id in helpers
            and not place[3].keywords
        ]

    def change(place: Any) -> Any:
        call = place[3]
        helper = helpers[call.func.id]
        names = [each.arg for each in helper.args.args]
        if (
            len(names) != len(call.args)
            or helper.args.vararg
            or any(isinstance(e, ast.Starred) for e in call.args)
        ):
            return False
        value = copy.deepcopy(helper.body[0].value)  # type: ignore[attr-defined]
        put(
            place,
            _Replace(dict(zip(names, call.args))).visit(value) if value else ast.Constant(None),
        )
        return True

    yield from everywhere(program, places, change)


def propagate(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the value of a variable where the variable is read."""

    def places(each: SourceProgram) -> list[Any]:
        return [
            (body, node)
            for function in ast.walk(each.definitions)
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
            for body in bodies(function)
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        ]

    def change(place: Any) -> Any:
        body, node = place
        name, after = node.targets[0].id, body[body.index(node) + 1 :]
        uses = [
            part
            for each in after
            for part in ast.walk(each)
            if isinstance(part, ast.Name) and part.id == name
        ]
        plain = isinstance(node.value, ast.Name)
        if any(isinstance(each.ctx, ast.Store) for each in uses) or len(uses) > 1 and not plain:
            return False
        swap = _Replace({name: node.value})
        body[body.index(node) :] = [swap.visit(each) for each in after] or [ast.Pass()]
        return True

    yield from everywhere(program, places, change)


class _Replace(ast.NodeTransformer):
    def __init__(self, by: dict[str, ast.expr]) -> None:
        self.by = by

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.by.get(node.id, node))

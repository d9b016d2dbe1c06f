"""Edits that take a level away: helpers into their calls, variables into their readers, a block for
the whole, a list in the place of what makes it.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import re
from collections.abc import Collection, Iterator
from typing import Any

from anonymizer.edits.absorption import match_arguments
from anonymizer.edits.callees import needs_no_object
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.source.locations import (
    IdentifierRenaming,
    change_each,
    copy_with_place,
    find_expressions,
    find_method,
    list_bodies,
    put_at,
)
from anonymizer.source.program import SourceProgram

#: How long a list is written out.
_FEW = 4
_RANGE = re.compile(r"range\(\d+\)")


def inline(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the single-`return` body of a helper where it is called; not of one that calls itself,
    which would have no end.
    """
    helpers = {
        node.name: node
        for node in program.definitions.body
        if isinstance(node, ast.FunctionDef)
        and len(node.body) == 1
        and isinstance(node.body[0], ast.Return)
        and node.name not in find_names(node)
    }

    def locate(each: SourceProgram) -> list[Any]:
        return [
            location
            for location in find_expressions(each, ast.Call)
            if isinstance(location[3].func, ast.Name) and location[3].func.id in helpers
        ]

    def change(location: Any) -> Any:
        call = location[3]
        helper = helpers[call.func.id]
        given = match_arguments(helper, call, bound=False)
        if given is None:
            return False
        value = copy.deepcopy(helper.body[0].value)  # type: ignore[attr-defined]
        put_at(location, NameSubstitution(given).visit(value) if value else ast.Constant(None))
        return True

    yield from change_each(program, locate, change)


def propagate(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the value of a variable where the variable is read."""

    def locate(each: SourceProgram) -> list[Any]:
        functions = (
            function
            for function in ast.walk(each.definitions)
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
        )
        return [
            (body, node)
            for scope in (*functions, *([each.definitions] if each.is_script else ()))
            for body in list_bodies(scope)
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        ]

    for index in range(len(locate(program))):
        made, (body, node) = copy_with_place(program, locate, index)
        name, after = node.targets[0].id, body[body.index(node) + 1 :]
        uses = [
            part
            for each in after
            for part in ast.walk(each)
            if isinstance(part, ast.Name) and part.id == name
        ]
        plain = isinstance(node.value, ast.Name)
        if any(isinstance(each.ctx, ast.Store) for each in uses) or len(uses) > 1 and not plain:
            continue
        swap = NameSubstitution({name: node.value})
        body[body.index(node) :] = [swap.visit(each) for each in after] or [ast.Pass()]
        if made.is_script:
            result = ast.parse(made.callable_expression, mode="eval")
            if name in find_names(result) and not plain:
                continue
            made = dataclasses.replace(made, callable_expression=ast.unparse(swap.visit(result)))
        yield made


def split_assignments(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write an assignment for each variable that gets a part of a tuple that is written there."""

    def locate(each: SourceProgram) -> list[tuple[list[ast.stmt], ast.Assign]]:
        return [
            (body, node)
            for body in list_bodies(each.definitions)
            for node in body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(node.targets[0].elts) == len(node.value.elts)
            and all(isinstance(part, ast.Name) for part in node.targets[0].elts)
        ]

    def change(location: tuple[list[ast.stmt], ast.Assign]) -> None:
        body, node = location
        target, value = node.targets[0], node.value
        assert isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        at = body.index(node)
        body[at : at + 1] = [
            ast.Assign([name], part, lineno=1) for name, part in zip(target.elts, value.elts)
        ]

    yield from change_each(program, locate, change)


def iterate_values(program: SourceProgram) -> Iterator[SourceProgram]:
    """Go through the values of a dictionary in the place of its keys, where the program looks each
    key up.
    """

    def locate(each: SourceProgram) -> list[tuple[SourceProgram, ast.For, str, ast.Dict]]:
        written = {
            node.targets[0].id: node.value
            for node in ast.walk(each.definitions)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Dict)
        }
        return [
            (each, node, node.iter.id, written[node.iter.id])
            for node in ast.walk(each.definitions)
            if isinstance(node, ast.For)
            and isinstance(node.iter, ast.Name)
            and node.iter.id in written
        ]

    def change(location: tuple[SourceProgram, ast.For, str, ast.Dict]) -> None:
        whole, loop, name, values = location
        for place in find_expressions(whole, ast.Subscript):
            if ast.unparse(place[3].value) == name and isinstance(place[3].slice, ast.Name):
                put_at(place, place[3].slice)
        loop.iter = ast.Tuple(copy.deepcopy(values.values), ast.Load())

    yield from change_each(program, locate, change)


def unroll(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the body of a loop over few values once for each. What is read later of the variables
    of the loop has the last values.
    """

    def locate(each: SourceProgram) -> list[tuple[set[str], list[ast.stmt], ast.For]]:
        result = find_names(ast.parse(each.callable_expression)) if each.is_script else set()
        return [
            (result, body, node)
            for body in list_bodies(each.definitions)
            for node in body
            if isinstance(node, ast.For)
            and _list_values(node.iter)
            and all(_bind(node.target, value) for value in _list_values(node.iter))
            and not node.orelse
            and not any(isinstance(part, (ast.Break, ast.Continue)) for part in ast.walk(node))
        ]

    def change(location: tuple[set[str], list[ast.stmt], ast.For]) -> None:
        result, body, loop = location
        at = body.index(loop)
        *earlier, last = (_bind(loop.target, value) for value in _list_values(loop.iter))
        later = find_names(*body[at + 1 :]) | result
        kept = [
            ast.Assign([ast.Name(name, ast.Store())], value, lineno=loop.lineno)
            for name, value in last.items()
            if name in later
        ]
        last = {name: value for name, value in last.items() if name not in later}
        body[at : at + 1] = [
            *(part for values in earlier for part in _write_once(loop.body, values)),
            *kept,
            *_write_once(loop.body, last),
        ]

    yield from change_each(program, locate, change)


def _write_once(body: list[ast.stmt], values: dict[str, ast.expr]) -> list[ast.stmt]:
    swap = NameSubstitution(values)
    return [swap.visit(copy.deepcopy(statement)) for statement in body]


def _bind(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    """What each variable of a loop stands for; nothing where that is not written there."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple) or not isinstance(value, (ast.Tuple, ast.List)):
        return {}
    pairs = list(zip(target.elts, value.elts, strict=False))
    is_flat = all(isinstance(name, ast.Name) for name in target.elts)
    is_flat = is_flat and not any(isinstance(part, ast.Starred) for part in value.elts)
    if not is_flat or len(target.elts) != len(value.elts):
        return {}
    return {name.id: part for name, part in pairs if isinstance(name, ast.Name)}


def _list_values(given: ast.expr) -> list[ast.expr]:
    """What a loop or a comprehension goes over; empty where that is not written there, or is more
    than a reader wants to see.
    """
    values: list[ast.expr] = []
    if isinstance(given, (ast.List, ast.Tuple)):
        values = given.elts
    elif _RANGE.fullmatch(text := ast.unparse(given)):
        values = [ast.Constant(number) for number in range(int(text[len("range(") : -1]))]
    return values if len(values) <= _FEW else []


def free_methods(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a function of a method that does nothing with its object."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (each.definitions, owner, method)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef)
            for method in owner.body
            if isinstance(method, ast.FunctionDef)
            and method.name not in ("forward", "__call__")  # which are not called by their names
            and needs_no_object(method)
        ]

    def change(location: Any) -> Any:
        whole, owner, method = location
        read = [
            part for part in find_expressions(whole, ast.Attribute) if part[3].attr == method.name
        ]
        if any(ast.unparse(part[3].value) != "self" for part in read):
            return False
        for part in read:
            put_at(part, ast.Name(method.name, ast.Load()))
        owner.body.remove(method)
        owner.body = owner.body or [ast.Pass()]
        method.args.args = method.args.args[1:]
        whole.body.insert(whole.body.index(owner), method)
        return True

    yield from change_each(program, locate, change)


def write_out(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the elements of a list in the place of a comprehension over few values."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (location, values)
            for location in find_expressions(each, ast.ListComp)
            if (values := _list_plain_values(location[3]))
        ]

    def change(location: Any) -> None:
        place, values = location
        made = place[3]
        name = made.generators[0].target.id
        written = [
            NameSubstitution({name: value}).visit(copy.deepcopy(made.elt)) for value in values
        ]
        put_at(place, ast.List(written, ast.Load()))

    yield from change_each(program, locate, change)


def _list_plain_values(node: ast.ListComp) -> list[ast.expr]:
    """The few constants or names that the variable of a comprehension is in turn, if it is."""
    made = node.generators[0]
    if len(node.generators) > 1 or made.ifs or not isinstance(made.target, ast.Name):
        return []
    values = _list_values(made.iter)
    is_plain = all(isinstance(value, (ast.Constant, ast.Name)) for value in values)
    return values if is_plain else []


def fold(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write a number or a function that a constructor puts into an attribute where the class reads
    it.
    """

    def locate(each: SourceProgram) -> list[Any]:
        functions = {n.name for n in each.definitions.body if isinstance(n, ast.FunctionDef)}
        return [
            (owner, target.attr, value)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef)
            for start in owner.body
            if isinstance(start, ast.FunctionDef) and start.name == "__init__"
            for target, value in _find_constants(start.body, functions)
            if isinstance(target, ast.Attribute)
        ]

    def change(location: Any) -> Any:
        owner, name, value = location
        found = [
            part
            for part in find_expressions(owner, ast.Attribute)
            if part[3].attr == name and ast.unparse(part[3].value) == "self"
        ]
        stored = sum(isinstance(part[3].ctx, ast.Store) for part in found)
        for part in found:
            if isinstance(part[3].ctx, ast.Load):
                put_at(part, copy.deepcopy(value))
        return stored == 1 and len(found) > 1

    yield from change_each(program, locate, change)


def fold_class_attributes(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write a number that is an attribute of a class where the program reads it."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (each, target.id, value)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef)
            for target, value in _find_constants(owner.body)
            if isinstance(target, ast.Name)
        ]

    def change(location: Any) -> Any:
        made, name, value = location
        found = [part for part in find_expressions(made, ast.Attribute) if part[3].attr == name]
        if any(isinstance(part[3].ctx, ast.Store) for part in found):
            return False
        for part in found:
            put_at(part, copy.deepcopy(value))
        return bool(found)

    yield from change_each(program, locate, change)


def _find_constants(
    body: list[ast.stmt], functions: Collection[str] = ()
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What gets a constant, or one of some functions, in a block of statements, and that value."""
    for node in body:
        value = node.value if isinstance(node, ast.Assign) else None
        is_function = isinstance(value, ast.Name) and value.id in functions
        if isinstance(node, ast.Assign) and (is_function or isinstance(value, ast.Constant)):
            yield node.targets[0], node.value


def promote(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make one block the whole program, on as many of the inputs as it takes."""
    for index, node in enumerate(program.definitions.body):
        forward = _find_forward(node)
        if forward is None or node.name == "Repro":  # type: ignore[attr-defined]
            continue
        made = copy.deepcopy(program)
        block: Any = made.definitions.body[index]
        returned: Any = made.inputs.body[-1]
        wanted = len(forward.args.args) - 1 - len(forward.args.defaults)
        if _has_parameters(block) or len(returned.value.elts) < wanted:
            continue
        made.definitions.body = [
            each for each in made.definitions.body if getattr(each, "name", "") != "Repro"
        ]
        mode = ".eval()" if program.callable_expression.endswith(".eval()") else ""
        IdentifierRenaming({block.name: "Repro"}).visit(made.definitions)
        block.name = "Repro"
        returned.value.elts = returned.value.elts[:wanted]
        yield dataclasses.replace(made, callable_expression="Repro()" + mode)


def _find_forward(node: ast.stmt) -> ast.FunctionDef | None:
    method = find_method(node, "forward") if isinstance(node, ast.ClassDef) else None
    return method if method is not None and not method.decorator_list else None


def _has_parameters(block: ast.ClassDef) -> bool:
    """Whether the constructor wants arguments."""
    starts = [each for each in block.body if getattr(each, "name", "") == "__init__"]
    return any(isinstance(each, ast.FunctionDef) and len(each.args.args) > 1 for each in starts)

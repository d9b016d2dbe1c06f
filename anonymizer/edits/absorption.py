"""Edits that write a block or a function where it is called, if that is its only call: a repro of
one level is read at once.

The body goes before the statement that makes the call, and what it returns in the place of the
call; a block's attributes become those of its owner. Whether names meet that meant different things
is not asked: the candidate shows it.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anonymizer.edits.callees import Index, Target, list_constructed, resolve
from anonymizer.graph.identifiers import find_names
from anonymizer.source.locations import (
    IdentifierRenaming,
    PathShortening,
    change_each,
    find_expressions,
    list_bodies,
    put_at,
)
from anonymizer.source.program import SourceProgram

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_NOT_OURS = (ast.Yield, ast.YieldFrom, ast.Await)
_CALLED = (ast.Call, ast.Attribute)


def replace_single_lists(program: SourceProgram) -> Iterator[SourceProgram]:
    """A list of one block that is only asked for its first becomes that block."""

    def locate(each: SourceProgram) -> list[Any]:
        found = []
        for owner in _list_classes(each):
            for node in list_constructed(owner):
                if not isinstance(node, ast.Assign) or not isinstance(
                    node.targets[0], ast.Attribute
                ):
                    continue
                made = _take_only_element(node.value)
                if made is not None:
                    found.append((each, node, made))
        return found

    def change(location: Any) -> Any:
        whole, node, made = location
        name = node.targets[0].attr
        node.value = made
        uses = [
            part
            for part in find_expressions(whole, ast.Subscript)
            if isinstance(part[3].value, ast.Attribute) and part[3].value.attr == name
        ]
        for part in uses:
            put_at(part, part[3].value)
        return bool(uses)

    yield from change_each(program, locate, change)


def _take_only_element(value: ast.expr) -> ast.expr | None:
    """The element of `[Block() for _ in range(1)]` or `nn.ModuleList([Block()])`."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "nn.ModuleList" and value.args:
        return _take_only_element(value.args[0])
    if isinstance(value, ast.ListComp):
        once = ast.unparse(value.generators[0].iter) == "range(1)"
        return value.elt if once else None
    if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1:
        return value.elts[0]
    return None


@dataclass(frozen=True)
class _CallSite:
    """A call, the statement and the function or the script that it is in, and its target."""

    body: list[ast.stmt]
    statement: ast.stmt
    location: Any
    caller: ast.FunctionDef | ast.Module
    target: Target


def absorb(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the body of a block, a method or a function where its only call is."""
    yield from change_each(program, _list_calls, _change)


def _list_calls(program: SourceProgram) -> list[_CallSite]:
    index = Index(program)
    found: list[_CallSite] = []
    if program.is_script:
        script = program.definitions
        found += _list_calls_of(index, None, script, script.body)
    for function in index.functions.values():
        found += _list_calls_in(index, None, function)
    for owner in index.classes.values():
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                found += _list_calls_in(index, owner, node)
    return found


def _list_calls_in(
    index: Index, owner: ast.ClassDef | None, caller: ast.FunctionDef
) -> Iterator[_CallSite]:
    for body in list_bodies(caller):
        yield from _list_calls_of(index, owner, caller, body)


def _list_calls_of(
    index: Index,
    owner: ast.ClassDef | None,
    caller: ast.FunctionDef | ast.Module,
    body: list[ast.stmt],
) -> Iterator[_CallSite]:
    for statement in body:
        for location in (
            find_expressions(statement, _CALLED) if isinstance(statement, _SIMPLE) else ()
        ):
            found = resolve(index, owner, location[3])
            if found is not None and found.function is not caller:
                yield _CallSite(body, statement, location, caller, found)


def _change(called: _CallSite) -> bool:
    """Writes what is called in the place of its call; False where that is not the same."""
    target, call = called.target, called.location[3]
    function = copy.deepcopy(target.function)
    arguments = call if isinstance(call, ast.Call) else ast.Call(call, [], [])
    given = match_arguments(function, arguments, target.bound)
    result = _take_result(function)
    if given is None or result is None:
        return False
    own = function.args.args[0].arg if target.object else ""
    is_read = own in find_names(result, *function.body)
    if is_read and not target.object.isidentifier():
        given = {own: ast.parse(target.object, mode="eval").body, **given}
    renamed = _choose_new_names(called, function, given)
    if target.object.isidentifier():
        renamed[own] = target.object
    renaming = IdentifierRenaming(renamed)
    parameters: list[ast.stmt] = [
        ast.Assign([ast.Name(renamed.get(name, name), ast.Store())], value, lineno=1)
        for name, value in given.items()
        if ast.unparse(value) != renamed.get(name, name)
    ]
    body = [renaming.visit(each) for each in function.body if not isinstance(each, ast.Pass)]
    result = renaming.visit(result)
    at = called.body.index(called.statement)
    if isinstance(called.statement, ast.Expr) and called.statement.value is call:
        called.body[at] = ast.Expr(result)
    else:
        put_at(called.location, result)
    called.body[at:at] = [*parameters, *body]
    _drop(target)
    return True


def match_arguments(
    function: ast.FunctionDef, call: ast.Call, bound: bool
) -> dict[str, ast.expr] | None:
    """What a call gives each parameter: its arguments, else the defaults; None where their number
    is not known, on either side, or they do not fit.

    Args:
        bound: whether the first parameter is the object that the function is a method of.
    """
    parameters = function.args
    if parameters.vararg or parameters.kwarg or parameters.posonlyargs:
        return None
    if any(not word.arg for word in call.keywords):
        return None
    places = [each.arg for each in parameters.args]
    named = [each.arg for each in parameters.kwonlyargs]
    default = dict(zip(reversed(places), reversed(parameters.defaults)))
    default |= {name: value for name, value in zip(named, parameters.kw_defaults) if value}
    places = places[1 if bound else 0 :]
    if len(call.args) > len(places) or any(isinstance(e, ast.Starred) for e in call.args):
        return None
    given = dict(zip(places, call.args)) | {str(word.arg): word.value for word in call.keywords}
    wanted = [*places, *named]
    found = {name: given.get(name, default.get(name)) for name in wanted}
    values = {name: value for name, value in found.items() if value is not None}
    return values if len(values) == len(wanted) and set(given) <= set(wanted) else None


def _take_result(function: ast.FunctionDef) -> ast.expr | None:
    """What a function returns at its end, where it no longer says so; None where it may return
    before, or hands over in between.
    """
    last = function.body[-1]
    parts = [part for each in function.body for part in ast.walk(each)]
    if any(isinstance(part, ast.Return) and part is not last for part in parts):
        return None
    if any(isinstance(part, _NOT_OURS) for part in parts):
        return None
    if not isinstance(last, ast.Return):
        return ast.Constant(None)
    function.body.pop()
    return last.value or ast.Constant(None)


def _drop(target: Target) -> None:
    """Takes a method out of its class; what makes a block becomes what the block's own constructor
    does.
    """
    if target.owner is None:
        return
    if target.made is None:
        target.owner.body.remove(target.function)
        target.owner.body = target.owner.body or [ast.Pass()]
        return
    body = next(body for body in list_bodies(target.owner) if target.made in body)
    at = body.index(target.made)
    if isinstance(target.made, ast.Assign) and target.reader is not None:
        attribute = ast.unparse(target.made.targets[0]).removeprefix("self.")
        PathShortening(attribute).visit(target.reader)
    body[at : at + 1] = copy.deepcopy(list(target.moved))


def _choose_new_names(
    called: _CallSite, function: ast.FunctionDef, given: Mapping[str, ast.expr]
) -> dict[str, str]:
    """New names for those of the called function that mean something else where it is called."""
    own = find_names(*function.body, context=ast.Store)
    same = {name for name, value in given.items() if ast.unparse(value) == name} - own
    scope: list[ast.AST] = [called.caller]
    if isinstance(called.caller, ast.Module):
        scope = [each for each in called.caller.body if not isinstance(each, _DEFINITIONS)]
    there = find_names(*scope)
    there |= {node.arg for each in scope for node in ast.walk(each) if isinstance(node, ast.arg)}
    taken = there | own | set(given)
    numbers = (f"local{number}" for number in itertools.count(1) if f"local{number}" not in taken)
    return {name: next(numbers) for name in sorted((own | set(given)) & there - same)}


def _list_classes(program: SourceProgram) -> list[ast.ClassDef]:
    return [node for node in program.definitions.body if isinstance(node, ast.ClassDef)]

"""Edits that write a block or a function where it is called, if that is its only call: a repro of one level is read at once.

The body goes before the statement that makes the call, and what it returns in the place of the call; a block's attributes become
those of its owner. Whether names meet that meant different things is not asked: the candidate shows it.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anonymizer.source_places import Renamed, bodies, everywhere, expressions, put
from anonymizer.source_program import SourceProgram

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_NOT_OURS = (ast.Yield, ast.YieldFrom, ast.Await)


def single(program: SourceProgram) -> Iterator[SourceProgram]:
    """A list of one block that is only asked for its first becomes that block."""

    def places(each: SourceProgram) -> list[Any]:
        found = []
        for owner in _classes(each):
            for node in _constructor(owner):
                made = _only(node.value) if isinstance(node, ast.Assign) else None
                if made is not None and isinstance(node.targets[0], ast.Attribute):  # type: ignore[attr-defined]
                    found.append((each, node, made))
        return found

    def change(place: Any) -> Any:
        whole, node, made = place
        name = node.targets[0].attr
        node.value = made
        uses = [
            part
            for part in expressions(whole, ast.Subscript)
            if isinstance(part[3].value, ast.Attribute) and part[3].value.attr == name
        ]
        for part in uses:
            put(part, part[3].value)
        return bool(uses)

    yield from everywhere(program, places, change)


def _only(value: ast.expr) -> ast.expr | None:
    """The element of `[Block() for _ in range(1)]` or `nn.ModuleList([Block()])`."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "nn.ModuleList" and value.args:
        return _only(value.args[0])
    if isinstance(value, ast.ListComp):
        once = ast.unparse(value.generators[0].iter) == "range(1)"
        return value.elt if once else None
    if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 1:
        return value.elts[0]
    return None


_NOTHING: Any = ast.parse("def nothing():\n    pass").body[0]


@dataclass
class _Called:
    """A call, the statement it is in, and what is called.

    `owner` is the class whose method or block that is; of a block, `made` is the statement that makes it, and `moved` are
    those of the block's own constructor.
    """

    body: list[ast.stmt]
    statement: ast.stmt
    place: Any
    function: ast.FunctionDef
    caller: ast.FunctionDef
    bound: bool
    owner: ast.ClassDef | None = None
    made: ast.stmt | None = None
    moved: tuple[ast.stmt, ...] = ()


def absorb(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the body of a block, a method or a function where its only call is."""
    yield from everywhere(program, _calls, _change)


def _calls(program: SourceProgram) -> list[_Called]:
    found: list[_Called] = []
    for top in program.definitions.body:
        owner = top if isinstance(top, ast.ClassDef) else None
        functions = top.body if isinstance(top, ast.ClassDef) else [top]
        for function in functions:
            if isinstance(function, ast.FunctionDef) and function.name != "__init__":
                found += _calls_in(program, owner, function)
    return found


def _calls_in(
    program: SourceProgram, owner: ast.ClassDef | None, function: ast.FunctionDef
) -> Iterator[_Called]:
    for body in bodies(function):
        for statement in body:
            if isinstance(statement, _SIMPLE):
                for place in expressions(statement, ast.Call):
                    called = _resolved(program, owner, function, body, statement, place)
                    if called is not None and called.function is not function:
                        yield called


def _resolved(
    program: SourceProgram,
    owner: ast.ClassDef | None,
    caller: ast.FunctionDef,
    body: list[ast.stmt],
    statement: ast.stmt,
    place: Any,
) -> _Called | None:
    target = place[3].func
    if isinstance(target, ast.Name):
        for node in program.definitions.body:
            if isinstance(node, ast.FunctionDef) and node.name == target.id:
                once = _mentions(program, node.name) == 1
                return _Called(body, statement, place, node, caller, False) if once else None
    if owner is None or not isinstance(target, ast.Attribute):
        return None
    if ast.unparse(target.value) != "self" or _reads(program, target.attr) != 1:
        return None
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == target.attr:
            plain = not node.decorator_list and target.attr != "forward"
            return _Called(body, statement, place, node, caller, True, owner) if plain else None
    return _block(
        program, owner, target.attr, _Called(body, statement, place, _NOTHING, caller, True)
    )


def _block(
    program: SourceProgram, owner: ast.ClassDef, name: str, called: _Called
) -> _Called | None:
    """The block behind an attribute, if the constructor makes it without arguments and nobody else makes one."""
    made = [
        node
        for node in _constructor(owner)
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == f"self.{name}"
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and not node.value.args + node.value.keywords
    ]
    if len(made) != 1:
        return None
    kind = ast.unparse(made[0].value.func)  # type: ignore[attr-defined]
    block = next((each for each in _classes(program) if each.name == kind), None)
    if block is None or _mentions(program, kind) != 1:
        return None
    members = [each for each in block.body if isinstance(each, ast.FunctionDef)]
    forward = next((each for each in members if each.name == "forward"), None)
    if forward is None or {each.name for each in members} - {"forward", "__init__"}:
        return None
    moved = [each for each in _constructor(block) if not _is_super(each)]
    called.function, called.owner, called.made, called.moved = (
        forward,
        owner,
        made[0],
        tuple(moved),
    )
    return called


def _change(called: _Called) -> Any:
    function, call = copy.deepcopy(called.function), called.place[3]
    names = [each.arg for each in function.args.args][1 if called.bound else 0 :]
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs or call.keywords:
        return False
    if len(names) != len(call.args) or any(isinstance(e, ast.Starred) for e in call.args):
        return False
    parts = [part for each in function.body for part in ast.walk(each)]
    if any(isinstance(part, _NOT_OURS) for part in parts):
        return False
    last = function.body[-1]
    returns = [part for part in parts if isinstance(part, ast.Return)]
    result: ast.expr = ast.Constant(None)
    if isinstance(last, ast.Return):
        function.body.pop()
        result = last.value or result
        returns.remove(last)
    if returns:
        return False  # it may return before its end
    renamed = _apart(called, function, dict(zip(names, call.args)))
    result = Renamed(renamed).visit(result)
    before: list[ast.stmt] = [
        ast.Assign([ast.Name(renamed.get(name, name), ast.Store())], value, lineno=1)
        for name, value in zip(names, call.args)
        if ast.unparse(value) != renamed.get(name, name)
    ]
    at = called.body.index(called.statement)
    if isinstance(called.statement, ast.Expr) and called.statement.value is call:
        called.body[at] = ast.Expr(result)
    else:
        put(called.place, result)
    called.body[at:at] = before + [
        Renamed(renamed).visit(each) for each in function.body if not isinstance(each, ast.Pass)
    ]
    if called.owner is not None and called.made is None:
        called.owner.body.remove(called.function)
    elif called.owner is not None:
        made: Any = called.made
        start = next(b for b in bodies(called.owner) if made in b)
        place = start.index(made)
        start[place : place + 1] = copy.deepcopy(list(called.moved))
    return True


def _apart(
    called: _Called, function: ast.FunctionDef, given: dict[str, ast.expr]
) -> dict[str, str]:
    """New names for those of the called function that mean something else where it is called."""
    own = {
        node.id
        for each in function.body
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    same = {name for name, value in given.items() if ast.unparse(value) == name} - own
    there = {node.id for node in ast.walk(called.caller) if isinstance(node, ast.Name)}
    there |= {node.arg for node in ast.walk(called.caller) if isinstance(node, ast.arg)}
    numbers = (f"local{number}" for number in itertools.count(1) if f"local{number}" not in there)
    return {name: next(numbers) for name in sorted((own | set(given)) & there - same)}


def _classes(program: SourceProgram) -> list[ast.ClassDef]:
    return [node for node in program.definitions.body if isinstance(node, ast.ClassDef)]


def _constructor(owner: ast.ClassDef) -> list[ast.stmt]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return node.body if len(node.args.args) == 1 else []
    return []


def _is_super(node: ast.stmt) -> bool:
    return ast.unparse(node).startswith(("super().__init__(", "nn.Module.__init__("))


def _mentions(program: SourceProgram, name: str) -> int:
    trees = (program.definitions, program.inputs, ast.parse(program.callable_expression))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return sum(isinstance(node, ast.Name) and node.id == name for node in nodes)


def _reads(program: SourceProgram, name: str) -> int:
    return sum(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(program.definitions)
    )

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonymizer.graph.identifiers import find_names
from anonymizer.source.locations import (
    IdentifierRenaming,
    change_each,
    find_expressions,
    find_new_objects,
    list_bodies,
    put_at,
)
from anonymizer.source.program import SourceProgram

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_NOT_OURS = (ast.Yield, ast.YieldFrom, ast.Await)
_CALLED = (ast.Call, ast.Attribute)
#: The decorators, if any, of what is called by an object, by its class, and of what is only read.
_OF_OBJECT = ("", "staticmethod")
_OF_CLASS = ("classmethod", "staticmethod")
_PROPERTIES = ("property", "functools.cached_property")


def replace_single_lists(program: SourceProgram) -> Iterator[SourceProgram]:
    """A list of one block that is only asked for its first becomes that block."""

    def locate(each: SourceProgram) -> list[Any]:
        found = []
        for owner in _list_classes(each):
            for node in _find_constructor_body(owner):
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
class _Target:
    """What is called: a function, `bound` or not.

    `owner` is the class whose method or block it is, `made` the statement that makes that block,
    and `moved` the statements of the block's own constructor. `object` is the variable with the
    object whose method it is, where a script calls it, or what makes that object; of a method of
    the class it is the class.
    """

    function: ast.FunctionDef
    bound: bool = False
    owner: ast.ClassDef | None = None
    made: ast.stmt | None = None
    moved: tuple[ast.stmt, ...] = ()
    object: str = ""


@dataclass(frozen=True)
class _CallSite:
    """A call, the statement and the function or the script that it is in, and its target."""

    body: list[ast.stmt]
    statement: ast.stmt
    location: Any
    caller: ast.FunctionDef | ast.Module
    target: _Target


def absorb(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the body of a block, a method or a function where its only call is."""
    yield from change_each(program, _list_calls, _change)


class _Index:
    """What a program defines, and how often names are mentioned and attributes read."""

    def __init__(self, program: SourceProgram) -> None:
        trees = (program.definitions, program.inputs, ast.parse(program.callable_expression))
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self.mentions = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        self.reads = Counter(
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        )
        top = program.definitions.body
        self.functions = {node.name: node for node in top if isinstance(node, ast.FunctionDef)}
        self.classes = {node.name: node for node in top if isinstance(node, ast.ClassDef)}
        #: The classes of the objects that a script makes, by their variables.
        self.objects = {
            ast.unparse(made.targets[0]): owner
            for made, owner in find_new_objects(program, self.classes)
        }


def _list_calls(program: SourceProgram) -> list[_CallSite]:
    index = _Index(program)
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
    index: _Index, owner: ast.ClassDef | None, caller: ast.FunctionDef
) -> Iterator[_CallSite]:
    for body in list_bodies(caller):
        yield from _list_calls_of(index, owner, caller, body)


def _list_calls_of(
    index: _Index,
    owner: ast.ClassDef | None,
    caller: ast.FunctionDef | ast.Module,
    body: list[ast.stmt],
) -> Iterator[_CallSite]:
    for statement in body:
        for location in (
            find_expressions(statement, _CALLED) if isinstance(statement, _SIMPLE) else ()
        ):
            found = _resolve(index, owner, location[3])
            if found is not None and found.function is not caller:
                yield _CallSite(body, statement, location, caller, found)


def _resolve(index: _Index, owner: ast.ClassDef | None, called: ast.expr) -> _Target | None:
    """What is called, if that is its only call; a property is where it is read."""
    target = called.func if isinstance(called, ast.Call) else called
    if isinstance(target, ast.Name):
        function = index.functions.get(target.id)
        once = function is not None and index.mentions[target.id] == 1
        return _Target(function) if function is not None and once else None
    if not isinstance(target, ast.Attribute) or index.reads[target.attr] != 1:
        return None
    base = ast.unparse(target.value)
    if owner is None:
        return _resolve_member(index, target, isinstance(called, ast.Call))
    if not isinstance(called, ast.Call):
        return None
    if base != "self":
        return _resolve_part(index, owner, target)
    method = _find_method(owner, target.attr)
    if method is not None:
        return _Target(method, True, owner)
    return _find_block(index, owner, target.attr)


def _resolve_member(index: _Index, target: ast.Attribute, is_call: bool) -> _Target | None:
    """The method of an object or a class that a script calls, or the property that it reads."""
    base = target.value
    name = ast.unparse(base.func if isinstance(base, ast.Call) else base)
    of_class = index.classes.get(name)
    owner = of_class or index.objects.get(name)
    if owner is None:
        return None
    if of_class is not None and not isinstance(base, ast.Call):
        kinds = _OF_CLASS
    else:
        kinds = _OF_OBJECT if is_call else _PROPERTIES
    method = _find_method(owner, target.attr, kinds)
    if method is None:
        return None
    is_bound = [ast.unparse(each) for each in method.decorator_list] != ["staticmethod"]
    return _Target(method, is_bound, owner, object=ast.unparse(base) if is_bound else "")


def _resolve_part(index: _Index, owner: ast.ClassDef, target: ast.Attribute) -> _Target | None:
    """The method of an object that the constructor of the caller's class makes."""
    part = ast.unparse(target.value)
    made = [
        node.value
        for node in _find_constructor_body(owner)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == part
    ]
    value = made[0] if len(made) == 1 else None
    name = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    kept = index.classes.get(name)
    method = _find_method(kept, target.attr) if kept is not None else None
    return None if method is None else _Target(method, True, kept, object=part)


def _find_method(
    owner: ast.ClassDef, name: str, kinds: Sequence[str] = _OF_OBJECT
) -> ast.FunctionDef | None:
    """A method of a class with one of some decorators, or none; `forward` is called by its
    module.
    """
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            own = " ".join(ast.unparse(each) for each in node.decorator_list)
            is_first = bool(node.args.args) or own == "staticmethod"
            return node if own in kinds and is_first and name != "forward" else None
    return None


def _find_block(index: _Index, owner: ast.ClassDef, name: str) -> _Target | None:
    """The block behind an attribute, if the constructor makes it without arguments and nobody else
    makes one.
    """
    made = [
        node
        for node in _find_constructor_body(owner)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{name}"
    ]
    value = made[0].value if len(made) == 1 else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return None
    block = index.classes.get(value.func.id)
    if block is None or index.mentions[block.name] != 1 or value.args or value.keywords:
        return None
    members = {each.name: each for each in block.body if isinstance(each, ast.FunctionDef)}
    if "forward" not in members or set(members) - {"forward", "__init__"}:
        return None
    moved = tuple(each for each in _find_constructor_body(block) if not calls_base(each))
    return _Target(members["forward"], True, owner, made[0], moved)


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
    if not target.object.isidentifier() and target.object:
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


def _drop(target: _Target) -> None:
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
    numbers = (f"local{number}" for number in itertools.count(1) if f"local{number}" not in there)
    return {name: next(numbers) for name in sorted((own | set(given)) & there - same)}


def _list_classes(program: SourceProgram) -> list[ast.ClassDef]:
    return [node for node in program.definitions.body if isinstance(node, ast.ClassDef)]


def _find_constructor_body(owner: ast.ClassDef) -> list[ast.stmt]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return node.body if len(node.args.args) == 1 else []
    return []


def calls_base(node: ast.stmt) -> bool:
    """Whether a statement calls the constructor of a module's base, without which the module takes
    no sub-modules.
    """
    return ast.unparse(node).startswith(("super().__init__(", "nn.Module.__init__("))

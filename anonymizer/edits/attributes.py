"""Edits that keep what an object holds without the object: with its owner, in a variable, or as an
argument of the entry.

They are about objects of which the program makes one, so that an attribute by its name is one place
for a value.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from anonymizer.edits.absorption import match_arguments
from anonymizer.edits.signatures import find_entry_function
from anonymizer.graph.containers import is_container
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.source import state
from anonymizer.source.locations import (
    PathShortening,
    change_each,
    find_expressions,
    find_method,
    put_at,
)
from anonymizer.source.program import SourceProgram, find_state_reader

#: A program, a class of it, a statement of its constructor, and the class of what that makes.
_HeldPlace = tuple[SourceProgram, ast.ClassDef, ast.Assign, ast.ClassDef]
#: The same without the last.
_AttributePlace = tuple[SourceProgram, ast.ClassDef, ast.Assign]
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def merge_objects(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give what an object holds to the object that makes it and asks it for nothing else:
    `self.cache.tiles` as `self.tiles`.
    """

    def locate(each: SourceProgram) -> list[_HeldPlace]:
        held = _find_holders(each)
        return [
            (each, owner, statement, held[statement.value.func.id])
            for owner in _list_classes(each)
            for statement in _list_assigned(owner)
            if isinstance(statement.value, ast.Call)
            and isinstance(statement.value.func, ast.Name)
            and statement.value.func.id in held
        ]

    yield from change_each(program, locate, _merge)


def _find_holders(program: SourceProgram) -> dict[str, ast.ClassDef]:
    """The plain classes that have a constructor at most, and are named once."""
    named = _count_names(program)
    return {
        owner.name: owner
        for owner in _list_classes(program)
        if not (owner.bases or owner.keywords or owner.decorator_list)
        and named[owner.name] == 1
        and all(
            isinstance(each, ast.Pass) or getattr(each, "name", "") == "__init__"
            for each in owner.body
        )
    }


def _merge(location: _HeldPlace) -> bool:
    whole, owner, statement, held = location
    constructor, name = find_method(held, "__init__"), _read_target(statement)
    assert isinstance(statement.value, ast.Call)
    body: list[ast.stmt] = []
    if constructor is not None:
        given = match_arguments(constructor, statement.value, bound=True)
        if given is None or find_names(*constructor.body, context=ast.Store):
            return False
        given = {**given, constructor.args.args[0].arg: ast.Name("self", ast.Load())}
        body = [NameSubstitution(given).visit(each) for each in constructor.body]
    is_told_apart = not _list_own(*body) & _list_own(*owner.body)
    PathShortening(name).visit(whole.definitions)
    left = [node for node in ast.walk(whole.definitions) if _is_attribute(node, name)]
    if len(left) > 1 or not is_told_apart:
        return False
    start = find_method(owner, "__init__")
    assert start is not None
    at = start.body.index(statement)
    start.body[at : at + 1] = body or [ast.Pass()]
    whole.definitions.body.remove(held)
    return True


def _list_own(*trees: ast.AST) -> set[str]:
    """The attributes of `self` in some trees."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_self(node.value)}


def free_attributes(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a variable of a container that the constructor of an object puts into an attribute, or
    of a number there that the program changes. Where the state is compared, the variable is.

    Only of a program whose runs each make their variables anew.
    """

    def locate(each: SourceProgram) -> list[_AttributePlace]:
        return [
            (each, owner, statement)
            for owner in _list_single_classes(each)
            for statement in _list_assigned(owner)
            if is_container(statement.value) or isinstance(statement.value, ast.Constant)
        ]

    def change(location: _AttributePlace) -> bool:
        whole, owner, statement = location
        name, start = _read_target(statement), find_method(owner, "__init__")
        known = _list_top_names(whole) | find_names(whole.definitions, whole.inputs)
        known |= {node.arg for node in ast.walk(whole.definitions) if isinstance(node, ast.arg)}
        given = {each.arg for each in ast.walk(owner) if isinstance(each, ast.arg)}
        if start is None or name in known:
            return False
        if find_names(statement.value) & (_list_top_names(whole) | given):
            return False
        start.body.remove(statement)
        start.body = start.body or [ast.Pass()]
        writers = [each for each in _list_functions(whole) if _writes(each, name)]
        if any(each.name == "__init__" for each in writers):
            return False
        if not writers and isinstance(statement.value, ast.Constant):
            return False
        for function in writers:
            function.body.insert(0, ast.Global([name]))
        _AsVariable(name).visit(whole.definitions)
        statement.targets = [ast.Name(name, ast.Store())]
        whole.definitions.body.insert(whole.definitions.body.index(owner), statement)
        _observe(whole, name)
        return True

    if program.has_own_state and not program.is_script:
        yield from change_each(program, locate, change)


def _list_single_classes(program: SourceProgram) -> list[ast.ClassDef]:
    """The classes of which a program makes one object: that of the entry, and those that it names
    once, for an attribute of such an object.
    """
    classes = {owner.name: owner for owner in _list_classes(program)}
    named = _count_names(program)
    found = [classes[name] for name in ("Repro",) if name in classes and named[name] == 1]
    for owner in found:
        for statement in _list_assigned(owner):
            value = statement.value
            name = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
            if name in classes and named[name] == 1:
                found.append(classes[name])
    return found


def _observe(program: SourceProgram, name: str) -> None:
    """Adds a variable to what is read of the state, if anything is and it is not."""
    reader = find_state_reader(program.definitions)
    read = reader.body if reader is not None else None
    if isinstance(read, ast.List) and name not in find_names(read):
        read.elts.append(ast.Name(name, ast.Load()))


def pass_containers(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give a function a container in a variable that nothing else reads as one more argument, whose
    contents are compared in the place of the state; those of one argument are.
    """

    def locate(each: SourceProgram) -> list[tuple[SourceProgram, ast.Assign]]:
        return [
            (each, statement)
            for statement in each.definitions.body
            if isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and is_container(statement.value)
            and not find_names(statement.value) & _list_top_names(each)
        ]

    def change(location: tuple[SourceProgram, ast.Assign]) -> bool:
        whole, statement = location
        name, entry = ast.unparse(statement.targets[0]), find_entry_function(whole)
        whole.definitions.body = [
            each
            for each in whole.definitions.body
            if each is not statement and find_state_reader(ast.Module([each], [])) is None
        ]
        others = [each for each in whole.definitions.body if each is not entry]
        if entry is None or name in find_names(*others) | find_names(entry, context=ast.Store):
            return False
        return _give(whole, entry, name, statement.value)

    if not program.has_own_state or program.callable_expression != "repro":
        return
    is_observed = find_state_reader(program.definitions) is not None
    if is_observed and state.holds_objects(program):
        return
    for made in change_each(program, locate, change):
        alone = dataclasses.replace(made, has_own_state=False, observes_arguments=is_observed)
        yield dataclasses.replace(alone, has_own_state=any(state.renew(alone)))


def pass_held_values(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give the entry what it reads from an object that it is given as one more argument: `x.attr1`
    as `attr1`.
    """

    def locate(each: SourceProgram) -> list[tuple[SourceProgram, str, str, ast.expr]]:
        classes = {owner.name: owner for owner in _list_classes(each)}
        made = {
            ast.unparse(node.targets[0]): node.value
            for node in each.inputs.body
            if isinstance(node, ast.Assign)
        }
        return [
            (each, parameter.arg, _read_target(statement), value)
            for parameter, given in zip(_list_parameters(each), each.list_arguments())
            for call in [made.get(ast.unparse(given), given)]
            if isinstance(call, ast.Call) and ast.unparse(call.func) in classes
            for statement in _list_assigned(classes[ast.unparse(call.func)])
            if (value := _find_value(classes[ast.unparse(call.func)], statement, call)) is not None
        ]

    def change(location: tuple[SourceProgram, str, str, ast.expr]) -> bool:
        whole, parameter, name, value = location
        entry = find_entry_function(whole)
        assert entry is not None
        read = [
            place
            for place in find_expressions(entry, ast.Attribute)
            if ast.unparse(place[3]) == f"{parameter}.{name}"
        ]
        if not read or any(not isinstance(place[3].ctx, ast.Load) for place in read):
            return False
        if name in _list_top_names(whole) | find_names(whole.definitions, whole.inputs):
            return False
        for place in read:
            put_at(place, ast.Name(name, ast.Load()))
        return _give(whole, entry, name, value)

    if not program.is_script:
        yield from change_each(program, locate, change)


def _list_parameters(program: SourceProgram) -> list[ast.arg]:
    """What the entry takes, beside the object that it is a method of."""
    entry = find_entry_function(program)
    given = entry.args.args if entry is not None else []
    return [each for each in given if each.arg != "self"]


def _find_value(owner: ast.ClassDef, statement: ast.Assign, call: ast.Call) -> ast.expr | None:
    """What the constructor puts into an attribute of a new object; None where it reads the object
    for that.
    """
    start = find_method(owner, "__init__")
    given = match_arguments(start, call, bound=True) if start is not None else None
    if start is None or given is None or start.args.args[0].arg in find_names(statement.value):
        return None
    value: ast.expr = NameSubstitution(given).visit(copy.deepcopy(statement.value))
    return value


def _give(program: SourceProgram, entry: ast.FunctionDef, name: str, value: ast.expr) -> bool:
    """Gives the entry one more argument; False where it does not say how many it takes."""
    arguments = entry.args
    if any((arguments.vararg, arguments.kwarg, arguments.kwonlyargs, arguments.defaults)):
        return False
    if len(_list_parameters(program)) != len(program.list_arguments()):
        return False
    arguments.args.append(ast.arg(name))
    program.list_arguments().append(value)
    return True


def _list_classes(program: SourceProgram) -> list[ast.ClassDef]:
    return [node for node in program.definitions.body if isinstance(node, ast.ClassDef)]


def _list_functions(program: SourceProgram) -> list[ast.FunctionDef]:
    nodes = ast.walk(program.definitions)
    return [node for node in nodes if isinstance(node, ast.FunctionDef)]


def _list_top_names(program: SourceProgram) -> set[str]:
    """The names of a program's functions, classes and variables."""
    body = program.definitions.body
    named = {node.name for node in body if isinstance(node, _DEFINITIONS)}
    return named | find_names(
        *(each for node in body if isinstance(node, ast.Assign) for each in node.targets)
    )


def _count_names(program: SourceProgram) -> Counter[str]:
    trees = (program.definitions, program.inputs, ast.parse(program.callable_expression))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return Counter(node.id for node in nodes if isinstance(node, ast.Name))


def _list_assigned(owner: ast.ClassDef) -> list[ast.Assign]:
    """The statements of a constructor that put something into an attribute of the object."""
    start = find_method(owner, "__init__")
    return [
        node
        for node in (start.body if start is not None else ())
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Attribute)
        and _is_self(node.targets[0].value)
    ]


def _read_target(statement: ast.Assign) -> str:
    assert isinstance(statement.targets[0], ast.Attribute)
    return statement.targets[0].attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_attribute(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and node.attr == name


def _writes(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function puts something else into an attribute, or deletes it."""
    attributes = (node for node in ast.walk(function) if _is_attribute(node, name))
    return any(not isinstance(node.ctx, ast.Load) for node in attributes)


class _AsVariable(ast.NodeTransformer):
    """A variable in the place of an attribute, of whichever object."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.Name(self.name, node.ctx) if node.attr == self.name else node

"""Variables in the place of an object that only holds values."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping

from anonymizer.edits.absorption import match_arguments
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.source.locations import (
    change_each,
    find_expressions,
    find_method,
    find_new_objects,
    is_name,
    put_at,
)
from anonymizer.source.program import SourceProgram

#: An attribute of a new object, with its place as `find_expressions` says it.
_AttributePlace = tuple[ast.AST, str, int | None, ast.Attribute]
#: A program, the statement that makes an object, and the constructor of the object's class.
_ObjectPlace = tuple[SourceProgram, ast.Assign, ast.FunctionDef]


def open_objects(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write the constructor of a plain class of a script where an object in a variable is made, of
    which nothing but attributes from there are read: `state = Thing(model); state.run(x)` as
    `run = compile(model); run(x)`.
    """

    def locate(each: SourceProgram) -> list[_ObjectPlace]:
        return [(each, *made) for made in find_new_objects(each, _list_constructors(each))]

    if program.is_script:
        yield from change_each(program, locate, _open)


def read_new_objects(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write what the constructor of a plain class of a script puts into an attribute in the place
    of that attribute of a new object: `Thing(model).run` as `compile(model)`.
    """

    def locate(each: SourceProgram) -> list[tuple[_AttributePlace, ast.FunctionDef]]:
        plain = _list_constructors(each)
        return [
            (place, plain[place[3].value.func.id])
            for place in find_expressions(each, ast.Attribute)
            if isinstance(place[3].value, ast.Call)
            and isinstance(place[3].value.func, ast.Name)
            and place[3].value.func.id in plain
        ]

    def change(location: tuple[_AttributePlace, ast.FunctionDef]) -> bool:
        place, constructor = location
        call = place[3].value
        assert isinstance(call, ast.Call)
        given = match_arguments(constructor, call, bound=True)
        values = [
            each.value
            for each in constructor.body
            if isinstance(each, ast.Assign)
            for target in each.targets
            if isinstance(target, ast.Attribute) and target.attr == place[3].attr
        ]
        own = constructor.args.args[0].arg
        if given is None or len(values) != 1 or own in find_names(values[0]):
            return False
        put_at(place, NameSubstitution(given).visit(copy.deepcopy(values[0])))
        return True

    if program.is_script:
        yield from change_each(program, locate, change)


def _list_constructors(program: SourceProgram) -> dict[str, ast.FunctionDef]:
    """The constructors of plain classes, by the name of the class, that do nothing but assign
    attributes.
    """
    return {
        node.name: constructor
        for node in program.definitions.body
        if isinstance(node, ast.ClassDef)
        and not (node.bases or node.keywords or node.decorator_list)
        and (constructor := _find_constructor(node)) is not None
    }


def _find_constructor(owner: ast.ClassDef) -> ast.FunctionDef | None:
    """The constructor of a class, if all that it does is to assign attributes of its own."""
    method = find_method(owner, "__init__")
    if method is None or not method.args.args:
        return None
    own = method.args.args[0].arg
    assigns = all(_is_assignment(each, own) for each in method.body)
    return method if assigns and _is_opened(method, own) else None


def _is_assignment(statement: ast.stmt, own: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement]
    return all(isinstance(each, ast.Attribute) and is_name(each.value, own) for each in targets)


def _is_opened(tree: ast.AST, name: str) -> bool:
    """Whether of a variable nothing but attributes is read."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    read = [node for node in nodes if isinstance(node.ctx, ast.Load)]
    return len(read) == len(_list_attributes(tree, name))


def _list_attributes(tree: ast.AST, name: str) -> list[ast.Attribute]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return [node for node in nodes if is_name(node.value, name)]


def _open(location: _ObjectPlace) -> bool:
    whole, statement, constructor = location
    name, call = ast.unparse(statement.targets[0]), statement.value
    assert isinstance(call, ast.Call)
    given = match_arguments(constructor, call, bound=True)
    body = copy.deepcopy(constructor.body)
    own = constructor.args.args[0].arg
    known = {each.attr for part in body for each in _list_attributes(part, own)}
    read = {each.attr for each in _list_attributes(whole.definitions, name)}
    if given is None or not read <= known or not _is_opened(whole.definitions, name):
        return False
    names = _make_names(whole)
    parameters = {each: ast.Name(next(names), ast.Load()) for each in given}
    variables = {each: next(names) for each in sorted(known)}
    made = [
        ast.Assign([ast.Name(parameters[each].id, ast.Store())], value)
        for each, value in given.items()
    ]
    opened = [NameSubstitution(parameters).visit(each) for each in body]
    made += [_Opening(own, variables).visit(each) for each in opened]
    at = whole.definitions.body.index(statement)
    whole.definitions.body[at : at + 1] = made
    _Opening(name, variables).visit(whole.definitions)
    return True


class _Opening(ast.NodeTransformer):
    """Variables in the place of the attributes of a name."""

    def __init__(self, owner: str, variables: Mapping[str, str]) -> None:
        self.owner, self.variables = owner, variables

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if is_name(node.value, self.owner):
            return ast.Name(self.variables[node.attr], node.ctx)
        self.generic_visit(node)
        return node


def _make_names(program: SourceProgram) -> Iterator[str]:
    """Names of variables that the program does not have."""
    taken = find_names(program.definitions, program.inputs)
    taken |= {node.arg for node in ast.walk(program.definitions) if isinstance(node, ast.arg)}
    return (name for at in itertools.count(1) if (name := f"value{at}") not in taken)

"""Where an edit applies: numbered locations in a program, found again in each copy."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from anonymizer.source.program import SourceProgram, find_state_reader

_Named = TypeVar("_Named")
#: Fields of a statement that hold statements.
BLOCKS = ("body", "orelse", "finalbody")


def list_bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements, outer ones first."""
    for node in ast.walk(tree):
        for name in BLOCKS:
            found = getattr(node, name, None)
            if isinstance(found, list) and found and isinstance(found[0], ast.stmt):
                yield found


def copy_with_place(
    program: SourceProgram, locate: Callable[[SourceProgram], list[Any]], index: int
) -> tuple[SourceProgram, Any]:
    """A copy of the program, and one of its places, which an edit may change.

    Args:
        locate: finds the places of an edit, in one order for all copies of a program. They hold
            nodes of the program that it is given.
        index: of the place among them.
    """
    made = copy.deepcopy(program)
    return made, locate(made)[index]


def change_each(
    program: SourceProgram,
    locate: Callable[[SourceProgram], list[Any]],
    change: Callable[[Any], Any],
) -> Iterator[SourceProgram]:
    """A program for each place at which `change` does not answer False.

    Args:
        locate: finds the locations in a copy of the program, always in the same order.
        change: edits one place of such a copy.
    """
    for index in range(len(locate(program))):
        made, location = copy_with_place(program, locate, index)
        if change(location) is not False:
            yield made


def find_expressions(program: SourceProgram | ast.AST, kinds: Any) -> list[Any]:
    """The places of expressions of some kinds inside functions, outer ones first; without those
    that say which attributes are compared (`state.observe`).

    Args:
        program: a program, of which the definitions are looked through, or a tree.
        kinds: a class of nodes, or a tuple of classes.

    Returns:
        (parent, field, position, node) of each; the position is None where the field is no list.
    """
    found: list[Any] = []
    tree = program.definitions if isinstance(program, SourceProgram) else program
    kept = _find_compared(tree)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, kinds) and id(value) not in kept:
                found.append((parent, name, None, value))
            elif isinstance(value, list):
                found += [
                    (parent, name, at, each)
                    for at, each in enumerate(value)
                    if isinstance(each, kinds) and id(each) not in kept
                ]
    return found


def _find_compared(tree: ast.AST) -> set[int]:
    """The parts of the state's reader that say what of a container or an object is compared."""
    reader = find_state_reader(tree)
    return {
        id(part)
        for inner in (ast.walk(reader) if reader is not None else ())
        if isinstance(inner, ast.DictComp)
        or isinstance(inner, ast.Call)
        and ast.unparse(inner.func) in ("len", "list")
        for part in ast.walk(inner)
    }


def find_new_objects(
    program: SourceProgram, classes: Mapping[str, _Named]
) -> list[tuple[ast.Assign, _Named]]:
    """The statements of a script that make an object for a variable, each with what stands under
    the name of the object's class.
    """
    return [
        (statement, classes[statement.value.func.id])
        for statement in program.definitions.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id in classes
    ]


def put_at(location: Any, new: ast.AST) -> None:
    """Puts another node where `find_expressions` has found one.

    Args:
        location: one of its places, whose parent is changed.
    """
    parent, name, at, _ = location
    if at is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[at] = new


class IdentifierRenaming(ast.NodeTransformer):
    """Gives names others, where they are read and where they are bound."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """The name with its new word, in the same context."""
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


class PathShortening(ast.NodeTransformer):
    """Reads attributes of an object from the one that holds it: `owner.part.x` as `owner.x`, for
    the name of the part.
    """

    def __init__(self, part: str) -> None:
        self.part = part

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """The attribute, without that name before it."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Attribute) and node.value.attr == self.part:
            node.value = node.value.value
        return node


class NodeExchange(ast.NodeTransformer):
    """One node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The other node for the one, and else what `node` becomes."""
        return self.new if node is self.old else self.generic_visit(node)


def is_name(node: ast.AST, name: str) -> bool:
    """Whether an expression is the variable of this name."""
    return isinstance(node, ast.Name) and node.id == name


def find_method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """The method of a class that it defines itself under a name."""
    methods = (node for node in owner.body if isinstance(node, ast.FunctionDef))
    return next((node for node in methods if node.name == name), None)

"""Edits of numbers and of the sizes, layouts and repetitions that they make."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from anonymizer.source.locations import change_each, copy_with_place, find_expressions, put_at
from anonymizer.source.program import SourceProgram, is_simple

#: Functions that are given nothing but sizes.
_OF_SIZES = ("torch.ones", "torch.zeros", "torch.rand", "torch.randn")


def shorten_ranges(program: SourceProgram) -> Iterator[SourceProgram]:
    """Each `range(12)` as `range(1)`: loops run once, and lists of blocks have one."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            node
            for node in ast.walk(each.definitions)
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) == "range"
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value not in (1, 0)
        ]

    def change(node: ast.Call) -> None:
        node.args[0] = ast.Constant(1)

    yield from change_each(program, locate, change)


def simplify_constants(program: SourceProgram) -> Iterator[SourceProgram]:
    """Simpler numbers, one place at a time."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            node
            for tree in (each.definitions, each.inputs)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, (int, float))
            and not isinstance(node.value, bool)
        ]

    for index, node in enumerate(locate(program)):
        for value in _list_simpler(node.value):
            made, location = copy_with_place(program, locate, index)
            location.value = value
            yield made


def _list_simpler(value: float) -> list[float]:
    if isinstance(value, int):
        return [2] if abs(value) > 2 else []
    simple = [1.0, 0.5, float(f"{value:.0e}")]
    return (
        [] if value in simple and is_simple(value) else [each for each in simple if each != value]
    )


def drop_layouts(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make an input that is laid out in an order of its own contiguous."""

    def locate(each: SourceProgram) -> list[Any]:
        found = find_expressions(each.inputs, ast.Call)
        return [
            location
            for location in found
            if isinstance(location[3].func, ast.Attribute)
            and location[3].func.attr == "as_strided"
            and isinstance(location[3].func.value, ast.Call)
            and isinstance(location[3].args[0], ast.Tuple)
        ]

    def change(location: Any) -> Any:
        made, sizes = location[3].func.value, location[3].args[0]
        if ast.unparse(made.func) in _OF_SIZES:
            made.args = sizes.elts
        elif made.args and isinstance(made.args[-1], ast.Tuple):
            made.args[-1] = sizes
        else:
            return False
        put_at(location, made)
        return True

    yield from change_each(program, locate, change)


def drop_padding(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make all elements of an input entries (`collectors.dynamo.value_structure`)."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            location
            for location in find_expressions(each.inputs, ast.Call)
            if isinstance(location[3].func, ast.Attribute)
            and location[3].func.attr == "masked_fill"
        ]

    def change(location: Any) -> None:
        put_at(location, location[3].func.value)

    yield from change_each(program, locate, change)


def shrink_dimensions(program: SourceProgram) -> Iterator[SourceProgram]:
    """Every occurrence of a size in inputs and parameters shrinks at once, then those of the
    definitions alone: a width may be another dimension's size by chance.
    """
    yield from _shrink(program, lambda each: (each.definitions, each.inputs))
    given = {value for _, value in _list_integers(program.inputs)}
    yield from _shrink(program, lambda each: (each.definitions,), given)


def _shrink(
    program: SourceProgram,
    list_trees: Callable[[SourceProgram], Sequence[ast.AST]],
    among: Collection[int] | None = None,
) -> Iterator[SourceProgram]:
    """The sizes in some parts of a program; `among`: only these."""
    found = (value for tree in list_trees(program) for _, value in _list_integers(tree))
    sizes = {value for value in found if value > 2 and (among is None or value in among)}
    for size in sorted(sizes, reverse=True):
        for smaller in dict.fromkeys((2, 4, 8, size // 2)):
            if smaller < size:
                made = copy.deepcopy(program)
                for tree in list_trees(made):
                    for node, value in _list_integers(tree):
                        node.value = value // size * smaller if value % size == 0 else value
                yield made


def _list_integers(tree: ast.AST) -> Iterator[tuple[ast.Constant, int]]:
    """The whole numbers in a text, with their nodes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, node.value

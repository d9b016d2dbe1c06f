"""Numbers of a whole rewritten program replaced by generic ones: sizes by groups and floats of one
digit, as in `resizing`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from anonymizer.numbers.resizing import SizeGroup, group_sizes, is_usual, round_to_digit
from anonymizer.source.program import SourceProgram


def find_size_groups(program: SourceProgram) -> list[SizeGroup]:
    """The whole numbers of a program by group, largest base first; those that anybody would choose
    are left out.
    """
    return group_sizes(n.value for n in _find_numbers(program) if isinstance(n.value, int))


def collect_taken_sizes(program: SourceProgram) -> frozenset[int]:
    """Numbers that a generic size would be mistaken for: every whole one in the program."""
    return frozenset(n.value for n in _find_numbers(program) if isinstance(n.value, int))


def replace_sizes(
    program: SourceProgram, bases: Mapping[SizeGroup, int], floats: Iterable[float] = ()
) -> SourceProgram:
    """The program with other numbers.

    Args:
        bases: group -> its new base; its members become the same multiples of that.
        floats: floats that are rounded to one digit.
    """
    table: dict[float, float] = {value: round_to_digit(value) for value in floats}
    table |= {size: size // f.base * new for f, new in bases.items() for size in f.members}
    return _change(program, table)


def list_unusual_floats(program: SourceProgram) -> tuple[float, ...]:
    """Floats that nobody else would write."""
    floats = (n.value for n in _find_numbers(program) if isinstance(n.value, float))
    return tuple(dict.fromkeys(value for value in floats if not is_usual(value)))


def _find_numbers(program: SourceProgram) -> Iterator[ast.Constant]:
    for tree in (program.definitions, program.inputs):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                yield node


def _change(program: SourceProgram, table: Mapping[float, float]) -> SourceProgram:
    made = replace(
        program,
        definitions=copy.deepcopy(program.definitions),
        inputs=copy.deepcopy(program.inputs),
    )
    for node in _find_numbers(made):
        value = node.value
        assert isinstance(value, (int, float))
        if value in table and type(table[value]) is type(value):
            node.value = table[value]
    return made

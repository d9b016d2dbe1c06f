"""Numbers of a whole rewritten program that are nobody's: sizes by families, as in `resize`, and floats of one digit."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace

from anonymizer.resize import Family, families_of
from anonymizer.source_program import SourceProgram, is_simple


def families(program: SourceProgram) -> list[Family]:
    """The whole numbers of a program by family, largest base first; those that anybody would choose are left out."""
    return families_of(n.value for n in _numbers(program) if isinstance(n.value, int))


def integers(program: SourceProgram) -> frozenset[int]:
    """Every whole number in the program."""
    return frozenset(n.value for n in _numbers(program) if isinstance(n.value, int))


def resized(program: SourceProgram, bases: Mapping[Family, int]) -> SourceProgram:
    """The program with the bases of families replaced, and their multiples with them."""
    return _changed(
        program, {size: size // f.base * new for f, new in bases.items() for size in f.members}
    )


def telling_floats(program: SourceProgram) -> tuple[float, ...]:
    """Floats of more digits than somebody would write without a reason."""
    floats = (n.value for n in _numbers(program) if isinstance(n.value, float))
    return tuple(dict.fromkeys(value for value in floats if not is_simple(value)))


def rounded(program: SourceProgram, floats: tuple[float, ...]) -> SourceProgram:
    """The program with these floats to one digit."""
    return _changed(program, {value: float(f"{value:.0e}") for value in floats})


def _numbers(program: SourceProgram) -> Iterator[ast.Constant]:
    for tree in (program.definitions, program.inputs):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                yield node


def _changed(program: SourceProgram, table: Mapping[float, float]) -> SourceProgram:
    made = replace(
        program,
        definitions=copy.deepcopy(program.definitions),
        inputs=copy.deepcopy(program.inputs),
    )
    for node in _numbers(made):
        value = node.value
        assert isinstance(value, (int, float))
        if value in table and type(table[value]) is type(value):
            node.value = table[value]
    return made

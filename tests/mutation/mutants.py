"""The mutants of a module, and the sample of an area.

What a mutant is comes from mutmut: its operators, on libcst trees. Which are drawn depends on the
text of the mutated line and on the seed alone, so that an edit elsewhere, or a module that moves,
leaves the rest of the sample as it is.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

#: Calls whose arguments are not mutated: what follows is a TypeError that proves nothing.
_PLAIN = m.Name("len") | m.Name("isinstance") | m.Name("cast")
#: Not what the product does at run time, or nothing that a test could see.
_LEFT_OUT = (
    m.Annotation()
    | m.Decorator()
    | m.Import()
    | m.ImportFrom()
    | m.Assert()
    | m.Subscript(value=m.Name("Literal"))
    | m.ConcatenatedString()
)


@dataclass(frozen=True)
class Mutant:
    """One fault: the whole mutated text, and the lines that are run if the changed piece of code
    is.
    """

    module: str
    lines: range
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The changed lines."""
        pair = (self.before.splitlines(), self.after.splitlines())
        lines = list(difflib.unified_diff(*pair, n=0, lineterm=""))
        return "\n".join(line for line in lines[2:] if not line.startswith("@@"))

    @property
    def place(self) -> str:
        """File and line, for people."""
        return f"{self.module}:{self.lines.start}"


def sample(root: Path, patterns: Iterable[str], size: int, seed: str) -> list[Mutant]:
    """The drawn mutants of the modules, at most one for each line of code."""
    paths = sorted({path for pattern in patterns for path in root.glob(pattern)})
    files = [_File(path, str(path.relative_to(root))) for path in paths]
    found = sorted((change for file in files for change in file.changes(seed)), key=_rank)
    drawn: dict[tuple[str, int], Mutant] = {}
    for change in found:
        place = (change.file.name, change.line)
        if place not in drawn and (mutant := change.mutant()):
            drawn[place] = mutant
        if len(drawn) == size:
            break
    return sorted(drawn.values(), key=lambda item: (item.module, item.lines.start, item.diff))


def _rank(change: _Change) -> tuple[str, ...]:
    return change.rank


class _File:
    """A module as a tree, with the position of each node."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.text = path.read_text(encoding="utf-8")
        self.rows = self.text.splitlines()
        wrapper = MetadataWrapper(cst.parse_module(self.text))
        self.tree = wrapper.module
        self.positions: Any = wrapper.resolve(PositionProvider)

    def changes(self, seed: str) -> Iterator[_Change]:
        """Everything that the operators would do to the file."""
        for node, statement in _nodes(self.tree, None):
            for type_, operator in mutation_operators:
                if isinstance(node, type_):
                    for number, other in enumerate(_sensible(node, operator(node))):
                        name = f"{operator.__name__} {number}"
                        yield _Change(self, node, other, statement or node, name, seed)


class _Change:
    """A mutant that is not written out yet."""

    def __init__(
        self,
        file: _File,
        node: cst.CSTNode,
        other: cst.CSTNode,
        statement: cst.CSTNode,
        name: str,
        seed: str,
    ) -> None:
        self.file, self.node, self.other, self.statement = file, node, other, statement
        start = file.positions[node].start
        self.line = start.line
        # each line of code has the same chance, then each kind of change, then each change
        row, kind = file.rows[start.line - 1].strip(), name.partition(" ")[0]
        indent = len(file.rows[start.line - 1]) - len(file.rows[start.line - 1].lstrip())
        parts = (row, f"{row}\n{kind}", f"{row}\n{name}\n{start.column - indent}")
        self.rank = tuple(hashlib.sha256(f"{seed}\n{text}".encode()).hexdigest() for text in parts)

    def mutant(self) -> Mutant | None:
        """None where the change is no Python, or no change."""
        after = self.file.tree.deep_replace(self.node, self.other).code  # type: ignore[arg-type]
        try:
            ast.parse(after)
        except SyntaxError:
            return None
        end = self.file.positions[self.node].end.line
        if isinstance(self.statement, cst.BaseSmallStatement):
            end = self.file.positions[self.statement].end.line
        lines = range(self.file.positions[self.statement].start.line, end + 1)
        return (
            None
            if after == self.file.text
            else Mutant(self.file.name, lines, self.file.text, after)
        )


def _nodes(
    node: cst.CSTNode, statement: cst.CSTNode | None
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode | None]]:
    """The nodes to mutate, each with the statement around it."""
    if m.matches(node, _LEFT_OUT):
        return
    if isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
        statement = node
    is_plain = isinstance(node, cst.Call) and m.matches(node.func, _PLAIN)
    if not is_plain:
        yield node, statement
    for child in node.children:
        yield from _nodes(child, statement)


def _sensible(node: cst.CSTNode, others: Iterable[Any]) -> Iterator[cst.CSTNode]:
    """Without texts for people, which may be worded otherwise, and with one change of a string
    instead of three.
    """
    if isinstance(node, cst.SimpleString):
        if " " not in node.raw_value or "r" in node.prefix:
            yield from list(others)[:1]
    else:
        yield from others

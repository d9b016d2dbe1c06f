"""The body of one block as Python: one statement per operation, names reused as a person would,
repetition as a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anonymizer.model.body.context import BlockContext
from anonymizer.model.body.indented_lines import IndentedLines
from anonymizer.model.body.lifetimes import Lifetimes
from anonymizer.model.body.loop_writer import LoopWriter
from anonymizer.model.body.phrases import take_last_value, unroll
from anonymizer.model.body.references import References
from anonymizer.model.body.repetition import divide
from anonymizer.model.body.statements import ItemWriter, StatementWriter
from anonymizer.model.body.variables import Variables
from anonymizer.trace.ownership import parse_module_name
from anonymizer.trace.tree import ROOT

_PLAIN_NAMES = ("x", "y", "z", "w")


@dataclass(frozen=True)
class Method:
    """A written body: names of its parameters, its lines, and all of it as one text to compare
    by.
    """

    parameters: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it as one text."""
        return "\n".join((", ".join(self.parameters), *self.lines))


def write_method(context: BlockContext) -> Method:
    """The body of one call of a block; its attributes are noted in `context.attributes`.

    Raises:
        NotPublicError: it holds what may not leave.
    """
    body = BodyWriter(context)
    names = context.ownership.list_arguments(context.call)
    parameters = name_parameters(names)
    body.take(zip(names, parameters))
    body.write()
    body.write_return()
    return Method(tuple(parameters), tuple(body.lines))


def name_parameters(names: Sequence[str]) -> list[str]:
    """What a body calls what it is given, values and modules: `x`, `y`, `layer1`."""
    values = [name for name in names if parse_module_name(name) is None]
    plain = iter(_PLAIN_NAMES if len(values) <= 4 else [f"x{i}" for i in range(len(values))])
    layers = iter(range(1, len(names) + 1))
    return [
        next(plain) if parse_module_name(name) is None else f"layer{next(layers)}" for name in names
    ]


class BodyWriter:
    """A body that is being written; `lines` are those it has so far.

    `counts`: how often another body has used each name; its variables' names are then not used
    again in this one.
    """

    def __init__(self, context: BlockContext, counts: Mapping[str, int] | None = None) -> None:
        self._context = context
        self._life = Lifetimes(context.program, context.ownership, context.call)
        self.variables = Variables(self._life, context.program.find_meta, counts)
        self._references = References(context, self.variables)
        self._lines = IndentedLines(context.program.states, context.call.state)
        self._statements = StatementWriter(
            self._life,
            self.variables,
            self._references,
            self._lines,
            ItemWriter(context, self._references),
        )
        self._loops = LoopWriter(
            context.attributes.lists,
            self._life,
            self.variables,
            self._references,
            self._lines,
            self._statements,
        )

    @property
    def lines(self) -> list[str]:
        """The lines so far, without the indentation of a method."""
        return self._lines.lines

    def take(self, given: Iterable[tuple[str, str]]) -> None:
        """Values and modules that the body is given, each with what it calls them."""
        for name, text in given:
            self.variables.hold(text, name)

    def read(self, name: str) -> str:
        """The expression of a value where the body ends so far."""
        return self._references.read(name)

    def write(self) -> None:
        """Writes the statements; what is given must have been taken.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        ranges = divide(self._context, self._life)
        breaks: set[int] = set()  # where a loop begins or ends
        for part in ranges:
            breaks |= {part.start, part.end}
            breaks |= {part.start + part.loop.length} if part.loop is not None else set()
        self._life.settle(breaks)
        for part in ranges:
            if part.loop is None:
                self._statements.write(part.start, part.end)
            else:
                self._loops.write(part.loop)
        self._lines.close_region()

    def write_return(self) -> None:
        """The last line: what the call leaves, where that is anything or nothing else is there."""
        shown = unroll([self.read(name) for name in self._life.results])
        if len(shown) == 1:
            only = take_last_value(self.lines, shown[0])
            self._lines.add(f"return {only}{',' if only.startswith('*') else ''}")
        elif shown:
            self._lines.add(f"return ({', '.join(shown)})")
        elif not self.lines or self._context.call.module == ROOT:
            self._lines.add("return None")

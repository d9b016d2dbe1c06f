"""One statement per operation or call of a block, short ones inside of the statement that reads
them.
"""

from __future__ import annotations

import re
from typing import Any

from anonymizer.graph.expressions import ExpressionWriter
from anonymizer.model.body.context import BlockContext
from anonymizer.model.body.indented_lines import IndentedLines
from anonymizer.model.body.lifetimes import Lifetimes
from anonymizer.model.body.operations import write_operation, write_square_root
from anonymizer.model.body.phrases import wrap_in_checkpoint
from anonymizer.model.body.references import References
from anonymizer.model.body.variables import Variables
from anonymizer.trace.data_flow import flatten_names
from anonymizer.trace.ownership import parse_module_name
from anonymizer.trace.tree import ModuleCall, Step

#: Longest expression that is written inside of another.
_SHORT = 44


class ItemWriter:
    """Writes operations and calls of blocks as expressions."""

    def __init__(self, context: BlockContext, references: References) -> None:
        self._ownership = context.ownership
        self._model = context.model
        self._references = references
        self._expressions = ExpressionWriter(references.read, write_square_root)

    def write(self, item: Step | ModuleCall) -> str:
        """The expression of what one statement does.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        return self._write_call(item) if isinstance(item, ModuleCall) else self._write_step(item)

    def _write_call(self, call: ModuleCall) -> str:
        method = self._model.which[id(call)]
        called = self._references.read_module(call.module)
        called += f".forward{method + 1}" if method else ""
        arguments = []
        for name in self._ownership.list_arguments(call):
            number = parse_module_name(name)
            arguments.append(
                self._references.read(name)
                if number is None
                else self._references.read_module(number)
            )
        return wrap_in_checkpoint(f"{called}({', '.join(arguments)})", call.wrap)

    def _write_step(self, step: Step) -> str:
        node, write_call = step.node, self._expressions.write_call
        if step.module is not None:
            called = write_call(node, 0, self._references.read_module(step.module))
            return wrap_in_checkpoint(called, step.wrap)
        if step.function is not None:
            return write_call(node, 0, f"{self._model.name_function(step.function)}.apply")
        if step.stand_in is not None:
            return write_call(node, 0, self._model.name_operator(step))
        return write_operation(node, self._expressions)


class StatementWriter:
    """Writes the statements of a body, each with the variables that its results go into."""

    def __init__(
        self,
        life: Lifetimes,
        variables: Variables,
        references: References,
        lines: IndentedLines,
        items: ItemWriter,
    ) -> None:
        self._life = life
        self._variables = variables
        self._references = references
        self._lines = lines
        self._items = items

    def write(self, start: int, end: int) -> None:
        """Writes the statements `start` to `end`, the last one excluded.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        for index in range(start, end):
            self._write(index, self._life.items[index])

    def _write(self, index: int, item: Step | ModuleCall) -> None:
        if isinstance(item, Step) and item.node.name in self._life.inlined:
            self._variables.put(item.node.name, self._items.write(item))
            return
        self._lines.switch(item.state)
        expression = self._items.write(item)
        if isinstance(item, Step) and item.same:
            self._change(index, item, expression)
            return
        live = [name for name in flatten_names(item.outs) if name in self._life.last]
        if not live:
            self._lines.add(expression)
        elif not self._chain(item, expression):
            self._lines.add(f"{self._name_target(index, item)} = {expression}")

    def _change(self, index: int, step: Step, expression: str) -> None:
        """A step that returned what it was given, changed or not."""
        changed = self._references.read(step.same)
        if step.in_place:
            self._lines.add(expression)
        elif re.fullmatch(r"\w+", changed):
            self._lines.add(f"{changed} = {expression}")
        elif self._life.last.get(step.same, -1) > index:
            # returned as it was, `self.weight1.float()`: what follows reads it under this name
            variable = self._variables.hold(self._variables.make(), step.same)
            self._lines.add(f"{variable} = {expression}")

    def _chain(self, item: Step | ModuleCall, expression: str) -> bool:
        """Keeps an expression for the statement that reads it, where the two are short together."""
        name = item.outs[0]
        after = self._life.chained.get(name, -1) if isinstance(name, str) else -1
        if after < 0:
            return False
        if len(expression) > _SHORT:
            self._life.unchain(name)
            return False
        self._variables.put(name, expression)
        return True

    def _name_target(self, index: int, item: Step | ModuleCall) -> str:
        outs = item.outs
        if len(outs) == 1 and isinstance(outs[0], str):
            return self._variables.choose(index, outs[0])
        return ", ".join(self._nest(index, name) for name in outs) + ("," if len(outs) == 1 else "")

    def _nest(self, index: int, name: Any) -> str:
        if isinstance(name, tuple):
            inner = ", ".join(self._nest(index, part) for part in name)
            return f"({inner}{',' if len(name) == 1 else ''})"
        if name is None or name not in self._life.last:
            return "_"
        return self._variables.choose(index, name)

"""A repetition as `for`: what goes from window to window, what is gathered, and what is read after
it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from anonymizer.model.body.indented_lines import IndentedLines
from anonymizer.model.body.lifetimes import Lifetimes
from anonymizer.model.body.loops import Loop
from anonymizer.model.body.references import References
from anonymizer.model.body.statements import StatementWriter
from anonymizer.model.body.variables import Variables
from anonymizer.trace.data_flow import flatten_names


@dataclass(frozen=True)
class _LoopState:
    """What a loop hands from window to window.

    `variables`: value before the loop -> the variable that it goes in; `lent`: value that is read
    after the loop as well -> its own expression.
    """

    variables: Mapping[str, str]
    lent: Mapping[str, str]


class LoopWriter:
    """Writes loops; `lists` are the block's lists of modules by attribute."""

    def __init__(
        self,
        lists: Mapping[str, tuple[int, ...]],
        life: Lifetimes,
        variables: Variables,
        references: References,
        lines: IndentedLines,
        statements: StatementWriter,
    ) -> None:
        self._lists = lists
        self._life = life
        self._variables = variables
        self._references = references
        self._lines = lines
        self._statements = statements

    def write(self, loop: Loop) -> None:
        """Writes a loop with the statements of its first window.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        self._lines.close_region()
        carried = self._carry(loop)
        heads = self._name_heads(loop)
        self._keep(loop)
        gathered = self._gather(loop)
        self._lines.add(_write_head(loop.times, heads))
        self._lines.indent()
        self._statements.write(loop.start, loop.start + loop.length)
        self._lines.close_region()
        self._hand_on(loop, carried, gathered)
        self._lines.dedent()
        self._leave(loop, carried)
        for name, values in gathered.items():
            for window, value in enumerate(loop.collected[name]):
                self._variables.put(value, f"{values}[{window}]")

    def _carry(self, loop: Loop) -> _LoopState:
        """A variable for each value that goes from window to window, which holds the first one's
        before the loop.
        """
        variables: dict[str, str] = {}
        lent: dict[str, str] = {}
        for initial, made in loop.carried.items():
            text = self._references.read(initial)
            own = self._variables.holds(text, initial) and text not in variables.values()
            if not own or self._life.last.get(initial, -1) >= loop.start + loop.length:
                variable = self._variables.make()
                self._lines.add(f"{variable} = {text}")
                lent[initial] = text  # the value itself is read after the loop
                text = variable
                self._variables.put(initial, variable)
                copy = f"copy of {initial}"
                self._variables.reserve(variable, copy)
                self._life.keep_until(copy, loop.start + loop.length - 1)
            variables[initial] = text
            self._variables.prefer(made, text)
        return _LoopState(variables, lent)

    def _name_heads(self, loop: Loop) -> dict[str, str]:
        """List of modules -> the variable that runs over it."""
        heads: dict[str, str] = {}
        for modules in loop.modules.values():
            if len(set(modules)) == 1:
                continue
            name = next(n for n, m in self._lists.items() if m == modules)
            heads[name] = re.sub(r"s(\d+)$", r"\1", name)
            self._references.enter_loop(modules, heads[name])
        return heads

    def _keep(self, loop: Loop) -> None:
        """What the last window leaves is read after the loop: its counterpart in the first must not
        be overwritten.
        """
        life = self._life
        for offset in range(loop.length):
            last = life.items[loop.end - loop.length + offset]
            for name, final in zip(
                flatten_names(life.items[loop.start + offset].outs), flatten_names(last.outs)
            ):
                if life.last.get(final, -1) >= loop.end:
                    life.keep_until(name, max(life.last.get(name, -1), loop.end - 1))

    def _gather(self, loop: Loop) -> dict[str, str]:
        """A list for each value that is read of every window after the loop."""
        life = self._life
        lists: dict[str, str] = {}
        for name, windows in loop.collected.items():
            lists[name] = self._variables.make()
            self._lines.add(f"{lists[name]} = []")
            self._variables.reserve(lists[name], windows[-1])
            life.keep_until(windows[-1], math.inf)
            life.keep_until(name, max(life.last.get(name, -1), loop.end - 1))
        return lists

    def _hand_on(self, loop: Loop, carried: _LoopState, gathered: Mapping[str, str]) -> None:
        """The end of a window: what it made goes to where the next one reads it."""
        moved = [
            (carried.variables[initial], text)
            for initial, made in loop.carried.items()
            if (text := self._references.read(made)) != carried.variables[initial]
        ]
        for name, values in gathered.items():
            self._lines.add(f"{values}.append({self._references.read(name)})")
        if moved:
            targets, texts = zip(*moved)
            self._lines.add(f"{', '.join(targets)} = {', '.join(texts)}")

    def _leave(self, loop: Loop, carried: _LoopState) -> None:
        """After the loop, the values of the last window stand where those of the first did."""
        items = self._life.items
        held = {made: carried.variables[initial] for initial, made in loop.carried.items()}
        self._variables.release_unwritten()
        for offset in range(loop.length):
            firsts = flatten_names(items[loop.start + offset].outs)
            finals = flatten_names(items[loop.end - loop.length + offset].outs)
            for name, final in zip(firsts, finals):
                text = held.get(name) or self._variables.get(name)
                if text is not None and self._life.last.get(final, -1) >= loop.end:
                    self._variables.put(final, text)
                    if re.fullmatch(r"\w+", text):
                        self._variables.reserve(text, final)
        for value, text in carried.lent.items():
            self._variables.put(value, text)
        for modules in loop.modules.values():
            self._references.leave_loop(modules)


def _write_head(times: int, heads: Mapping[str, str]) -> str:
    """The first line of a loop."""
    if not heads:
        return f"for _ in range({times}):"
    lists = [f"self.{name}" for name in heads]
    run_over = lists[0] if len(lists) == 1 else f"zip({', '.join(lists)})"
    return f"for {', '.join(heads.values())} in {run_over}:"

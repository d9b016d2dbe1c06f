"""Repetition in a block's body as a `for` loop: over lists of its layers, with values that go from one turn to the next.

The first turn is written with names that hold in every turn; what later statements read is what the last turn left in them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from anonymizer.model.flow import flat
from anonymizer.model.lifetimes import Lifetimes
from anonymizer.model.loops import Loop
from anonymizer.model.operations import Operations
from anonymizer.model.ownership import Ownership
from anonymizer.model.tree import Call, Program, Step

if TYPE_CHECKING:
    from anonymizer.model.attributes import Attributes
    from anonymizer.model.model import Writer


class Loops(Operations):
    """The state of a body that is being written, and its loops; the statements themselves are the body's."""

    def __init__(
        self,
        program: Program,
        own: Ownership,
        call: Call,
        attributes: Attributes,
        writer: Writer,
    ) -> None:
        super().__init__()
        self.program = program
        self.own = own
        self.call = call
        self.attributes = attributes
        self.writer = writer
        self.life = Lifetimes(program, own, call)
        self.items = call.items
        self.lines: list[str] = []
        self.depth = 0
        self.state = call.state
        self.counter = {"v": 0, "n": 0}
        self.prefer: dict[str, str] = {}
        self.lent: dict[str, str] = {}
        self.loop_text: dict[int, str] = (
            {}
        )  # how a module is called inside the loop that runs over it
        self.holder: dict[str, str] = {}  # variable -> the value that it holds

    def _item(self, index: int, item: Step | Call) -> None:
        """Writes one statement."""
        raise NotImplementedError

    def _line(self, text: str) -> None:
        """Writes one line at the present depth."""
        raise NotImplementedError

    def _switch(self, state: int) -> None:
        """Opens and closes `with` regions until the switches of a state hold."""
        raise NotImplementedError

    def _value(self, name: str) -> str:
        """The text that stands for a value."""
        raise NotImplementedError

    def _lists(self, loop: Loop) -> bool:
        """Makes the lists of modules that a loop runs over; False where they do not fit those there are."""
        fits = [
            len(set(modules)) == 1
            or self.attributes.free(modules)
            or modules in self.attributes.lists.values()
            for modules in loop.modules.values()
        ]
        if not all(fits):
            return False
        for modules in loop.modules.values():
            if len(set(modules)) > 1 and modules not in self.attributes.lists.values():
                name = self.attributes.fresh(self.writer.base(modules[0]).rstrip("s") + "s")
                self.attributes.lists[name] = modules
        return True

    # -- loops -----------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        first = range(loop.start, loop.start + loop.length)
        self._switch(self.call.state)
        variables = self._carry(loop)
        heads, lists = self._heads(loop)
        self._keep(loop)
        gathered = self._gather(loop)
        if not lists:
            self._line(f"for _ in range({loop.times}):")
        elif len(lists) == 1:
            self._line(f"for {heads[0]} in self.{lists[0]}:")
        else:
            zipped = ", ".join(f"self.{name}" for name in lists)
            self._line(f"for {', '.join(heads)} in zip({zipped}):")
        self.depth += 1
        for index in first:
            self._item(index, self.items[index])
        self._switch(self.call.state)
        moved = [
            (variables[initial], self._value(made))
            for initial, made in loop.carried.items()
            if self._value(made) != variables[initial]
        ]
        for name, values in gathered.items():
            self._line(f"{values}.append({self._value(name)})")
        if moved:
            self._line(f"{', '.join(v for v, _ in moved)} = {', '.join(t for _, t in moved)}")
        self.depth -= 1
        self._after(loop, variables)
        for name, values in gathered.items():
            for window, value in enumerate(loop.collected[name]):
                self.text[value] = f"{values}[{window}]"

    def _gather(self, loop: Loop) -> dict[str, str]:
        """A list for each value that is read of every window after the loop."""
        lists: dict[str, str] = {}
        for name in loop.collected:
            self.counter["v"] += 1
            lists[name] = f"v{self.counter['v']}"
            self._line(f"{lists[name]} = []")
            self.holder[lists[name]] = loop.collected[name][-1]  # not to be used for something else
            self.life.keep_until(loop.collected[name][-1], math.inf)
            self.life.keep_until(name, max(self.life.last.get(name, -1), loop.end - 1))
        return lists

    def _carry(self, loop: Loop) -> dict[str, str]:
        """A variable for each value that goes from window to window, which holds the first one's before the loop."""
        variables: dict[str, str] = {}
        for initial, made in loop.carried.items():
            text = self._value(initial)
            own = self.holder.get(text) == initial and text not in variables.values()
            if not own or self.life.last.get(initial, -1) >= loop.start + loop.length:
                self.counter["v"] += 1
                variable = f"v{self.counter['v']}"
                self._line(f"{variable} = {text}")
                self.lent[initial] = text  # the value itself is read after the loop
                self.text[initial] = text = variable
                copy = f"copy of {initial}"
                self.holder[variable] = copy
                self.life.keep_until(copy, loop.start + loop.length - 1)
            variables[initial] = text
            self.prefer[made] = text
        return variables

    def _heads(self, loop: Loop) -> tuple[list[str], list[str]]:
        heads: list[str] = []
        lists: list[str] = []
        for modules in loop.modules.values():
            if len(set(modules)) == 1:
                continue
            name = next(n for n, m in self.attributes.lists.items() if m == modules)
            if name not in lists:
                lists.append(name)
                heads.append(re.sub(r"s(\d+)$", r"\1", name))
            for module in modules:
                self.loop_text[module] = heads[lists.index(name)]
        return heads, lists

    def _keep(self, loop: Loop) -> None:
        """What the last window leaves is read after the loop: its counterpart in the first must not be overwritten."""
        for offset in range(loop.length):
            last = self.items[loop.end - loop.length + offset]
            for name, final in zip(flat(self.items[loop.start + offset].outs), flat(last.outs)):
                if self.life.last.get(final, -1) >= loop.end:
                    self.life.keep_until(name, max(self.life.last.get(name, -1), loop.end - 1))

    def _after(self, loop: Loop, variables: Mapping[str, str]) -> None:
        held = {made: variables[initial] for initial, made in loop.carried.items()}
        for variable in [v for v, value in self.holder.items() if value not in self.text]:
            del self.holder[variable]
        for offset in range(loop.length):
            firsts = flat(self.items[loop.start + offset].outs)
            finals = flat(self.items[loop.end - loop.length + offset].outs)
            for name, final in zip(firsts, finals):
                text = held.get(name) or self.text.get(name)
                if text is not None and self.life.last.get(final, -1) >= loop.end:
                    self.text[final] = text
                    if re.fullmatch(r"\w+", text):
                        self.holder[text] = final
        self.text.update(self.lent)
        self.lent.clear()
        for modules in loop.modules.values():
            for module in modules:
                self.loop_text.pop(module, None)

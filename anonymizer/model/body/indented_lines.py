"""The lines of a body: indentation, and `with` around what runs under other switches."""

from __future__ import annotations

from collections.abc import Sequence

from anonymizer.model.body.phrases import write_regions
from collectors.protocol.captured_trace import Switches


class IndentedLines:
    """Lines that are being written.

    `states` are the sets of switches of the program, such as grad mode and autocast; `base` is the
    index of the one that holds where the body begins.
    """

    def __init__(self, states: Sequence[Switches], base: int) -> None:
        self.lines: list[str] = []
        self._states = states
        self._base = base
        self._state = base
        self._depth = 0

    def add(self, text: str) -> None:
        """One more line, at the depth that is open now."""
        self.lines.append("    " * self._depth + text)

    def indent(self) -> None:
        """What follows stands inside of the last line."""
        self._depth += 1

    def dedent(self) -> None:
        """What follows stands after what the last `indent` opened."""
        self._depth -= 1

    def switch(self, state: int) -> None:
        """Opens and closes the region in which other switches hold than in the block."""
        if state == self._state:
            return
        if self._state != self._base:
            self.dedent()
        self._state = state
        if state != self._base:
            opened = ", ".join(write_regions(self._states[self._base], self._states[state]))
            self.add(f"with {opened}:")
            self.indent()

    def close_region(self) -> None:
        """Back to the switches of the block."""
        self.switch(self._base)

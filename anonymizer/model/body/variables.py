"""Names for values, reused as a person would: a variable whose value nobody reads any more takes
the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anonymizer.graph.ir import TensorMeta
from anonymizer.model.body.lifetimes import Lifetimes
from anonymizer.trace.data_flow import flatten_names


class Variables:
    """Which expression stands for each value, and which value each variable holds.

    Values go by their names in the trace. `find_meta` gives a value's metadata, as in the graph IR.
    `counts` says how many names of each kind are taken: `v` for values, `n` for whole numbers.
    """

    def __init__(
        self,
        life: Lifetimes,
        find_meta: Callable[[str], Any],
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self.counts = dict(counts or {"v": 0, "n": 0})
        self._life = life
        self._find_meta = find_meta
        self._text: dict[str, str] = {}
        self._held: dict[str, str] = {}  # variable -> the value that it holds
        self._preferred: dict[str, str] = {}

    def get(self, value: str) -> str | None:
        """The expression of a value, if it has one."""
        return self._text.get(value)

    def put(self, value: str, text: str) -> None:
        """This expression stands for the value from now on."""
        self._text[value] = text

    def hold(self, variable: str, value: str) -> str:
        """The variable holds the value from now on; returns the variable."""
        self._text[value] = variable
        return self.reserve(variable, value)

    def reserve(self, variable: str, value: str) -> str:
        """The variable is taken as long as `value` is needed, but does not stand for it."""
        self._held[variable] = value
        return variable

    def holds(self, variable: str, value: str) -> bool:
        """Whether it was this value that the variable got last."""
        return self._held.get(variable) == value

    def make(self, kind: str = "v") -> str:
        """A variable that nothing had before: `v1`, `v2`, …"""
        self.counts[kind] += 1
        return f"{kind}{self.counts[kind]}"

    def prefer(self, value: str, variable: str) -> None:
        """The value should go into this variable, once that is free."""
        self._preferred[value] = variable

    def choose(self, index: int, value: str) -> str:
        """A variable for what a statement makes: one whose value nobody reads any more, if the
        statement just read it.

        Args:
            index: of the statement.
            value: the name of what it makes, for which the variable stands from now on.
        """
        preferred = self._preferred.get(value)
        if preferred is not None and self._is_free(preferred, index):
            return self.hold(preferred, value)
        number = self._find_meta(value) == "int"
        for name in () if number else self._list_deep_reads(index):
            text = self._text.get(name, "")
            if self.holds(text, name) and self._is_free(text, index):
                if isinstance(self._find_meta(name), TensorMeta):
                    return self.hold(text, value)
        return self.hold(self.make("n" if number else "v"), value)

    def release_unwritten(self) -> None:
        """Frees the variables that were only reserved."""
        for variable in [v for v, value in self._held.items() if value not in self._text]:
            del self._held[variable]

    def _list_deep_reads(self, index: int) -> list[str]:
        """What a statement reads, and what the expressions written inside of it read."""
        life = self._life
        found: list[str] = []
        for name in life.reads[index]:
            inner = next(
                (i for i in range(index - 1, -1, -1) if name in flatten_names(life.items[i].outs)),
                None,
            )
            written = (
                name in life.inlined or name in life.chained and name not in self._held.values()
            )
            found += self._list_deep_reads(inner) if written and inner is not None else [name]
        return found

    def _is_free(self, variable: str, index: int) -> bool:
        held = self._held.get(variable)
        return held is None or self._life.last.get(held, -1) <= index

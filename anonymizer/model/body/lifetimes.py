"""Which value each statement of a block reads, how long a value is needed, and which may be written
where they are read.
"""

from __future__ import annotations

import math

from anonymizer.graph.expressions import INFIX
from anonymizer.graph.ir import Node, Ref
from anonymizer.trace.data_flow import flatten_names
from anonymizer.trace.ownership import Ownership
from anonymizer.trace.tree import ROOT, ModuleCall, Step, TracedProgram


class Lifetimes:
    """Facts of the statements of one call.

    `reads` by statement; `last` is the statement that reads a value last, infinite for results;
    `inlined` values are written wherever they are read; `chained` ones inside of the statement that
    follows, whose index they map to. `kept` overrides `last`.
    """

    def __init__(self, program: TracedProgram, ownership: Ownership, call: ModuleCall) -> None:
        self.program = program
        self.ownership = ownership
        self.items = call.items
        self.results = program.outputs if call.module == ROOT else call.leaves
        self.reads = [self._list_reads(item) for item in self.items]
        self.inlined = self._find_inline()
        self.chained: dict[str, int] = {}
        self.kept: dict[str, float] = {}
        self.last = self._find_last_uses()

    def settle(self, breaks: set[int]) -> None:
        """Finds what may be chained, never across the beginning or the end of a loop (`breaks`)."""
        found = self._find_chains()
        self.chained = {name: after for name, after in found.items() if after not in breaks}
        self.last = self._find_last_uses()

    def unchain(self, name: str) -> None:
        """This value gets a statement of its own after all."""
        del self.chained[name]
        self.last = self._find_last_uses()

    def keep_until(self, name: str, index: float) -> None:
        """A value is needed up to a statement, whoever reads it.

        Args:
            name: of the value.
            index: of the statement; infinity for the end of the body.
        """
        self.kept[name] = self.last[name] = index

    def _list_reads(self, item: Step | ModuleCall) -> tuple[str, ...]:
        names = (
            self.ownership.list_arguments(item)
            if isinstance(item, ModuleCall)
            else tuple(item.list_refs())
        )
        return (*names, *((item.same,) if isinstance(item, Step) and item.same else ()))

    def _find_inline(self) -> set[str]:
        """Sizes and arithmetic on them, written where they are used unless that is often; items of
        long tuples.
        """
        uses: dict[str, int] = {}
        for reads in self.reads:
            for name in reads:
                uses[name] = uses.get(name, 0) + 1
        found = set()
        for item in self.items:
            if (
                isinstance(item, Step)
                and item.module is None
                and item.node.name not in self.results
            ):
                size = item.node.target == "size" or item.node.target in INFIX
                few = uses.get(item.node.name, 0) <= (4 if item.node.target == "size" else 1)
                if item.node.meta == "int" and size and few:
                    found.add(item.node.name)
                elif item.node.target == "operator.getitem" and self._is_of_tuple(item.node):
                    found.add(item.node.name)
        return found

    def _is_of_tuple(self, node: Node) -> bool:
        of = node.args[0]
        return isinstance(of, Ref) and isinstance(self.program.find_meta(of.name), tuple)

    def _find_chains(self) -> dict[str, int]:
        """Values that only the very next statement reads, and it once: they may be written inside
        of it.
        """
        counts: dict[str, int] = {}
        for reads in self.reads:
            for name in reads:
                counts[name] = counts.get(name, 0) + 1
        found: dict[str, int] = {}
        shown = [
            index
            for index, item in enumerate(self.items)
            if not (isinstance(item, Step) and item.node.name in self.inlined)
        ]
        for index, after in zip(shown, shown[1:]):
            item, reader = self.items[index], self.items[after]
            outs = item.outs
            if len(outs) != 1 or not isinstance(outs[0], str) or item.state != reader.state:
                continue
            if isinstance(reader, Step) and reader.same:
                continue
            single = counts.get(outs[0]) == 1 and outs[0] not in self.results
            if single and outs[0] in self.reads[after] and self.program.find_meta(outs[0]) != "int":
                found[outs[0]] = after
        return found

    def _find_last_uses(self) -> dict[str, float]:
        last: dict[str, float] = {}
        for index, reads in enumerate(self.reads):
            for name in reads:
                last[name] = index
        for name in self.results:
            last[name] = math.inf
        for item, reads in zip(reversed(self.items), reversed(self.reads)):
            outs = tuple(flatten_names(item.outs))
            if outs and (outs[0] in self.inlined or outs[0] in self.chained):
                for name in reads:
                    last[name] = max(last[name], last.get(outs[0], 0))
        return {**last, **self.kept}

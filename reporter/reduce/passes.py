"""The passes that make a program shorter: fewer calls, fewer operations, fewer outputs.

Each is a class with one contract: `run` takes a candidate that shows the failure and returns one
that shows it too, never larger.

A pass asks about complete candidates only, through `Questions`; it has no loop to a fixed point of
its own — the driver repeats the round while it shrinks — and its choices depend on nothing but the
candidate, so they repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from anonymizer.graph.ir import Graph, Node, Ref, is_impure, prune
from reporter.core import delta_debugging
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Questions, require_graph
from reporter.reduce.graph_cuts import (
    are_alike,
    cut_inputs,
    fix_sizes,
    is_tensor,
    select_prefix,
    select_suffix,
    substitute,
    widen_range,
)
from reporter.reduce.pieces import PieceExtractor


class CallPass:
    """The fewest successive calls, latest shapes last, that still show the failure."""

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """The last call, the last two, the first or the first two, whichever fails first, else all;
        a single call of a graph with its sizes fixed, if that fails as well.
        """
        calls = candidate.assertion.calls
        if not calls:
            return candidate
        shorter = [calls[-1:], calls[-2:], calls[:1], calls[:2]]
        options = [candidate.with_assertion(calls=option) for option in shorter if option != calls]
        found = ask.find_first(options) or candidate
        if len(found.assertion.calls) == 1 and isinstance(found.content, Graph):
            plain = found.with_graph(fix_sizes(found.content)).with_assertion(calls=())
            found = ask.find_first([plain]) or found
        return found


class BisectionPass:
    """Bisection from both ends: the shortest failing prefix, then the latest start, so that time
    grows with the logarithm.

    What a prefix computes and nobody reads any more becomes its output; what a late start has not
    computed becomes an input.
    """

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """The shortest prefix of the program, and of that the shortest suffix, that still fails."""
        shorter = self._search(candidate, ask, select_prefix, delta_debugging.bisect_prefix)
        return self._search(shorter, ask, select_suffix, delta_debugging.bisect_suffix)

    def _search(
        self,
        candidate: Candidate,
        ask: Questions,
        cut: Callable[[Graph, int], Graph | None],
        bisect: Callable[..., int],
    ) -> Candidate:
        graph = require_graph(candidate)
        if len(graph.nodes) < 2:
            return candidate
        best = candidate

        def make(at: int) -> Candidate | None:
            part = cut(graph, at)
            return candidate.with_graph(part) if part is not None else None

        def holds(at: int, hints: Iterable[int]) -> bool:
            nonlocal best
            wanted = make(at)
            if not ask.holds(wanted, map(make, hints)):
                return False
            assert wanted is not None
            if len(require_graph(wanted).nodes) < len(require_graph(best).nodes):
                best = wanted
            return True

        bisect(len(graph.nodes), holds, workers=ask.scheduler.jobs)
        return best


class OutputPass:
    """The fewest outputs, by delta debugging."""

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """No output where it is an argument that the program writes to that is wrong, one where one
        is enough, else the fewest.
        """
        graph = require_graph(candidate)
        writes = candidate.assertion.compare_inputs and any(map(is_impure, graph.nodes))
        if writes and graph.outputs:
            found = ask.find_first([candidate.with_graph(prune(replace(graph, outputs=())))])
            if found is not None:
                return found
        if len(graph.outputs) <= 1:
            return candidate
        single = [
            candidate.with_graph(prune(replace(graph, outputs=(ref,))))
            for ref in reversed(graph.outputs)
        ]
        if len(single) <= 64:
            found = ask.find_first(single)
            if found is not None:
                return found

        def keep_outputs(refs: list[Ref], _: Candidate) -> Candidate | None:
            part = prune(replace(graph, outputs=tuple(refs)))
            return candidate.with_graph(part) if refs else None

        return ask.minimize(graph.outputs, candidate, keep_outputs)[1]


class DeltaDebuggingPass:
    """Delta debugging over the nodes: any of them may go, and what others read of them becomes an
    input.

    Asks `2 k log2(n)` times for `k` nodes to blame out of `n`.
    """

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """The program without the nodes that it fails without; one of two nodes stays as it is."""
        graph = require_graph(candidate)
        operations = [node.name for node in graph.nodes if node.counts]
        if len(operations) < 3:
            return candidate
        extractor = PieceExtractor(graph)

        def keep_nodes(names: list[str], best: Candidate) -> Candidate | None:
            part = extractor.extract(names) if names else None
            if part is None or part.statements >= require_graph(best).statements:
                return None
            return candidate.with_graph(replace(part, runs=graph.runs))

        return ask.minimize(operations, candidate, keep_nodes)[1]


class NodePass:
    """Node by node, last first: bypass it by an argument of the same shape and dtype, make it an
    input, or drop its effect.
    """

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """The program after one round over its nodes; each change that still fails is kept."""
        names = [node.name for node in reversed(require_graph(candidate).nodes)]
        while names:
            found = ask.pick(self._try_everywhere(candidate, names))
            if found is None:
                break
            at, candidate = found
            names = names[at + 1 :]
        return candidate

    def _try_everywhere(
        self, candidate: Candidate, names: Sequence[str]
    ) -> Iterator[tuple[int, Candidate]]:
        graph = require_graph(candidate)
        for at, name in enumerate(names):
            node = graph.find_node(name)
            for option in self._list_options(graph, node) if node is not None else ():
                yield at, candidate.with_graph(option)

    def _list_options(self, graph: Graph, node: Node) -> Iterator[Graph]:
        size = len(graph.nodes)
        if node.op == "enter":
            exits = [n.name for n in graph.nodes if n.op == "exit" and node.name in n.list_refs()]
            yield prune(
                replace(
                    graph,
                    nodes=tuple(
                        n for n in graph.nodes if n.name != node.name and n.name not in exits
                    ),
                )
            )
            return
        if node.op == "exit":
            return
        rest = tuple(n for n in graph.nodes if n.name != node.name)
        users = graph.map_users().get(node.name, [])
        if is_impure(node) and not users and node.name not in {ref.name for ref in graph.outputs}:
            yield prune(replace(graph, nodes=rest))
        for other in dict.fromkeys(node.list_refs()):
            if are_alike(graph, other, node.name):
                shorter = substitute(graph, node.name, other)
                if shorter is not None and len(shorter.nodes) < size:
                    yield shorter
        if is_tensor(graph, node.name) and users:
            cut = cut_inputs(graph, [node.name])
            if cut is not None and len(cut.nodes) < size:
                yield cut
                wider = widen_range(cut, f"c{node.name}")
                if wider is not None:
                    yield wider

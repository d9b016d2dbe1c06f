"""The reduction passes on graphs, in the order of their worth. Each is a class with one contract: `run` takes a candidate
that shows the failure and returns one that shows it too, never larger.

A pass asks about complete candidates only, through `Questions`; it has no loop to a fixed point of its own — the
driver repeats the round while it shrinks — and its choices depend on nothing but the candidate, so they repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from anonymizer import stock
from anonymizer.emit import NotPublic
from anonymizer.ir import (
    Graph,
    Input,
    Node,
    Recipe,
    Ref,
    impure,
    prune,
)
from anonymizer.layouts import contiguous
from reporter.candidate import Candidate
from reporter.reduce import ddmin
from reporter.reduce.cuts import (
    alike,
    cut_inputs,
    is_tensor,
    other_range,
    prefix,
    static,
    substitute,
    suffix,
    with_input,
)
from reporter.reduce.scheduler import Scheduler


def written(candidate: Candidate | None) -> str | None:
    """The text of a candidate, or None if it cannot be written down."""
    try:
        return candidate.text() if candidate is not None else None
    except (NotPublic, KeyError, ValueError, IndexError, TypeError, AssertionError):
        return None


class Questions:
    """Candidates in, answers out; a candidate that cannot be written down is not interesting."""

    def __init__(self, scheduler: Scheduler, progress: Callable[[Candidate], None]) -> None:
        self.scheduler = scheduler
        self._progress = progress

    def first(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first candidate, in order, that shows the failure."""
        kept: list[Candidate] = []

        def texts() -> Iterator[str]:
            for candidate in candidates:
                text = written(candidate)
                if text is not None:
                    kept.append(candidate)
                    yield text

        index = self.scheduler.first(texts())
        if index is None:
            return None
        self._progress(kept[index])
        return kept[index]

    def holds(self, candidate: Candidate | None, hints: Iterable[Candidate | None] = ()) -> bool:
        """Whether one candidate shows the failure; `hints` may be asked next and run meanwhile on idle workers."""
        text = written(candidate)
        if text is None or candidate is None:
            return False
        ahead = [hint for hint in map(written, hints) if hint is not None]
        if not self.scheduler.ask(text, ahead):
            return False
        self._progress(candidate)
        return True


class Pass(Protocol):
    """One reduction step over candidates."""

    name: str

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """A candidate that shows the same failure and is no larger."""


def graph_of(candidate: Candidate) -> Graph:
    """The graph of a graph candidate."""
    assert isinstance(candidate.content, Graph)
    return candidate.content


class Options:
    """Drops what surrounds the program: contexts, config assignments, torch.compile arguments, gradients of plain inputs."""

    name = "options"

    def __init__(self, last: bool = False) -> None:
        self.last = last  # the backend goes last: a cheaper one than the user's makes every candidate before cheaper

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        check = candidate.check
        # of a program that draws, nothing is dropped that makes both sides draw alike
        fixed = candidate.draws and check.kind.startswith("wrong")
        for context in check.contexts:
            left = tuple(item for item in candidate.check.contexts if item != context)
            candidate = ask.first([candidate.with_check(contexts=left)]) or candidate
        for name, _ in check.config:
            if fixed and name.endswith("fallback_random"):
                continue
            if name.endswith("emulate_precision_casts") and candidate.coarse:
                continue  # without it the difference could be a skipped rounding, which is no bug
            left_config = tuple(item for item in candidate.check.config if item[0] != name)
            candidate = ask.first([candidate.with_check(config=left_config)]) or candidate
        for name, _ in check.arguments:
            if name == "backend" and (fixed or not self.last):
                continue
            simpler = replace(candidate, check=candidate.check.without_argument(name))
            candidate = ask.first([simpler]) or candidate
        if check.evaluation:
            candidate = ask.first([candidate.with_check(evaluation=False)]) or candidate
        if check.compare_inputs:
            candidate = ask.first([candidate.with_check(compare_inputs=False)]) or candidate
        return candidate


class Calls:
    """The fewest successive calls, latest shapes last, that still show the failure."""

    name = "calls"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        calls = candidate.check.calls
        if not calls:
            return candidate
        shorter = [calls[-1:], calls[-2:], calls[:1], calls[:2]]
        options = [candidate.with_check(calls=option) for option in shorter if option != calls]
        found = ask.first(options) or candidate
        if len(found.check.calls) == 1 and isinstance(found.content, Graph):
            plain = found.with_graph(static(found.content, dict(found.check.calls[0]))).with_check(
                calls=()
            )
            found = ask.first([plain]) or found
        return found


class Window:
    """Bisection from both ends: the shortest failing prefix, then the latest start, so that time grows with the logarithm.

    What a prefix computes and nobody reads any more becomes its output; what a late start has not computed becomes an input.
    """

    name = "window"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        shorter = self._search(candidate, ask, prefix, ddmin.bisect_prefix)
        return self._search(shorter, ask, suffix, ddmin.bisect_suffix)

    def _search(
        self,
        candidate: Candidate,
        ask: Questions,
        cut: Callable[[Graph, int], Graph | None],
        bisect: Callable[..., int],
    ) -> Candidate:
        graph = graph_of(candidate)
        if len(graph.nodes) < 2:
            return candidate
        best = candidate

        def made(at: int) -> Candidate | None:
            part = cut(graph, at)
            return candidate.with_graph(part) if part is not None else None

        def holds(at: int, hints: Iterable[int]) -> bool:
            nonlocal best
            wanted = made(at)
            if not ask.holds(wanted, map(made, hints)):
                return False
            assert wanted is not None
            if len(graph_of(wanted).nodes) < len(graph_of(best).nodes):
                best = wanted
            return True

        bisect(len(graph.nodes), holds, workers=ask.scheduler.jobs)
        return best


class Outputs:
    """The fewest outputs, by delta debugging."""

    name = "outputs"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        graph = graph_of(candidate)
        if len(graph.outputs) <= 1:
            return candidate
        single = [
            candidate.with_graph(prune(replace(graph, outputs=(ref,))))
            for ref in reversed(graph.outputs)
        ]
        if len(single) <= 64:
            found = ask.first(single)
            if found is not None:
                return found
        best = candidate

        def batch(options: Iterable[list[Ref]]) -> int | None:
            nonlocal best
            made = [
                (
                    candidate.with_graph(prune(replace(graph, outputs=tuple(option))))
                    if option
                    else None
                )
                for option in options
            ]
            for index, item in enumerate(made):
                if item is not None and ask.first([item]) is not None:
                    best = item
                    return index
            return None

        ddmin.minimise_list(list(graph.outputs), batch)
        return best


class Nodes:
    """Node by node, last first: bypass it by an argument of the same shape and dtype, make it an input, or drop its effect."""

    name = "nodes"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        names = [node.name for node in graph_of(candidate).nodes]
        for name in reversed(names):
            graph = graph_of(candidate)
            node = graph.node(name)
            if node is not None:
                smaller = (candidate.with_graph(option) for option in self._options(graph, node))
                candidate = ask.first(smaller) or candidate
        return candidate

    def _options(self, graph: Graph, node: Node) -> Iterator[Graph]:
        size = len(graph.nodes)
        if node.op == "enter":
            exits = [n.name for n in graph.nodes if n.op == "exit" and node.name in n.refs()]
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
        users = graph.users().get(node.name, [])
        if impure(node) and not users and node.name not in {ref.name for ref in graph.outputs}:
            yield prune(replace(graph, nodes=rest))
        for other in dict.fromkeys(node.refs()):
            if alike(graph, other, node.name):
                shorter = substitute(graph, node.name, other)
                if shorter is not None and len(shorter.nodes) < size:
                    yield shorter
        if is_tensor(graph, node.name) and users:
            cut = cut_inputs(graph, [node.name])
            if cut is not None and len(cut.nodes) < size:
                yield cut
                yield from other_range(cut, f"c{node.name}")


class Backward:
    """The simplest way to ask for gradients that still shows the failure: a plain sum, and only where needed."""

    name = "backward"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        check = candidate.check
        if check.backward == "none":
            return candidate
        options = []
        if check.kind != "wrong_gradient":
            options.append(candidate.with_check(backward="none"))
        if check.backward != "sum":
            options.append(candidate.with_check(backward="sum"))
        return ask.first(options) or candidate


class Inputs:
    """Plainer inputs: no gradient, default layout, no alias, plain random floats; private state as plain arguments."""

    name = "inputs"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        for name in [item.name for item in graph_of(candidate).inputs]:
            for change in (
                self._no_grad,
                self._argument,
                self._no_alias,
                self._layout,
                self._recipe,
                self._dtype,
            ):
                item = graph_of(candidate).input(name)
                changed = change(item) if item is not None else None
                if item is not None and changed is not None and changed != item:
                    candidate = (
                        ask.first(
                            [candidate.with_graph(with_input(graph_of(candidate), item, changed))]
                        )
                        or candidate
                    )
        return candidate

    @staticmethod
    def _no_grad(item: Input) -> Input | None:
        return (
            replace(item, meta=replace(item.meta, requires_grad=False))
            if item.kind == "input"
            else None
        )

    @staticmethod
    def _argument(item: Input) -> Input | None:
        return replace(item, kind="input") if item.kind == "buffer" else None

    @staticmethod
    def _no_alias(item: Input) -> Input | None:
        return (
            replace(item, alias=None, meta=replace(item.meta, stride=contiguous(item.meta.shape)))
            if item.alias
            else None
        )

    @staticmethod
    def _layout(item: Input) -> Input | None:
        return (
            replace(item, meta=replace(item.meta, stride=contiguous(item.meta.shape)))
            if item.meta.stride and not item.alias
            else None
        )

    @staticmethod
    def _recipe(item: Input) -> Input | None:
        if item.recipe.kind in ("randn", "bool", "zeros", "ones") or item.kind != "input":
            return None
        if item.meta.is_float:
            return replace(item, recipe=Recipe("randn"))
        if item.recipe.kind == "randint" and item.recipe.low != 0 and item.recipe.high > 1:
            return replace(item, recipe=Recipe("randint", 0, item.recipe.high))
        return None

    @staticmethod
    def _dtype(item: Input) -> Input | None:
        if item.meta.is_float and item.meta.dtype != "float32":
            return replace(item, meta=replace(item.meta, dtype="float32"))
        return None


class Unstock:
    """A parameter nobody needs as a layer becomes a plain argument: the module disappears when it adds nothing."""

    name = "parameters"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        graph = graph_of(candidate)
        loose = [
            item for item in graph.inputs if item.kind == "param" and not self._owned(graph, item)
        ]
        if not loose or candidate.check.kind == "wrong_gradient":
            return candidate
        names = {item.name for item in loose}
        inputs = tuple(
            replace(item, kind="input") if item.name in names else item for item in graph.inputs
        )
        plain = candidate.with_graph(replace(graph, inputs=inputs))
        return ask.first([plain]) or candidate

    @staticmethod
    def _owned(graph: Graph, item: Input) -> bool:
        users = graph.users()
        matches = (stock.match(graph, node, users) for node in graph.nodes)
        return any(match is not None and item.name in match.owns for match in matches)

"""The reduction passes on graphs, in the order of their worth. Each is a class with one contract: `run` takes a candidate
that shows the failure and returns one that shows it too, never larger.

A pass asks about complete candidates only, through `Questions`; it has no loop to a fixed point of its own — the
driver repeats the round while it shrinks — and its choices depend on nothing but the candidate, so they repeat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

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
    retyped,
    static,
    substitute,
    suffix,
    with_input,
)
from reporter.reduce.pieces import Cutter
from reporter.reduce.scheduler import Scheduler

T = TypeVar("T")

#: A smaller candidate made from one, or None where there is nothing to change.
Change = Callable[[Candidate], "Candidate | None"]


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

    def pick(self, options: Iterable[tuple[T, Candidate | None]]) -> tuple[T, Candidate] | None:
        """The first option, in order, whose candidate shows the failure; the option's tag says which it was."""
        kept: list[tuple[T, Candidate]] = []

        def texts() -> Iterator[str]:
            for tag, candidate in options:
                text = written(candidate)
                if text is not None and candidate is not None:
                    kept.append((tag, candidate))
                    yield text

        index = self.scheduler.first(texts())
        if index is None:
            return None
        self._progress(kept[index][1])
        return kept[index]

    def first(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first candidate, in order, that shows the failure."""
        found = self.pick((None, candidate) for candidate in candidates)
        return found[1] if found is not None else None

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

    def sweep(self, candidate: Candidate, changes: Iterable[Change]) -> Candidate:
        """One change after another, each kept if the failure stays; runs ahead as if none of them would be.

        A change says None where it does not apply. Each is tried once, on what those before it have left.
        """
        left = list(changes)
        while left:
            found = self.pick((at, _applied(change, candidate)) for at, change in enumerate(left))
            if found is None:
                break
            at, candidate = found
            left = left[at + 1 :]
        return candidate

    def passed(self, candidate: Candidate) -> bool:
        """Whether a candidate that was asked about ran to its end and showed nothing."""
        text = written(candidate)
        answer = self.scheduler.answer(text) if text is not None else None
        return answer is not None and answer.outcome == "passes"


def _applied(change: Change, candidate: Candidate) -> Candidate | None:
    made = change(candidate)
    return made if made != candidate else None


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
        return ask.sweep(candidate, self._changes(candidate))

    def _changes(self, candidate: Candidate) -> Iterator[Change]:
        check = candidate.check
        # of a program that draws, nothing is dropped that makes both sides draw alike
        fixed = candidate.draws and check.kind.startswith("wrong")
        for context in check.contexts:
            yield functools.partial(_without, "contexts", context)
        for item in check.config:
            if fixed and item[0].endswith("fallback_random"):
                continue
            if item[0].endswith("emulate_precision_casts") and candidate.coarse:
                continue  # without it the difference could be a skipped rounding, which is no bug
            yield functools.partial(_without, "config", item)
        for item in check.arguments:
            if item[0] != "backend" or self.last and not fixed:
                yield functools.partial(_without, "arguments", item)
        yield lambda c: c.with_check(evaluation=False)
        yield lambda c: c.with_check(compare_inputs=False)


def _without(field: str, item: object, candidate: Candidate) -> Candidate:
    left = tuple(each for each in getattr(candidate.check, field) if each != item)
    return candidate.with_check(**{field: left})


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

        def fewer(refs: list[Ref]) -> Candidate | None:
            part = prune(replace(graph, outputs=tuple(refs)))
            return candidate.with_graph(part) if refs else None

        def batch(options: Sequence[list[Ref]]) -> int | None:
            nonlocal best
            found = ask.pick((at, fewer(refs)) for at, refs in enumerate(options))
            if found is None:
                return None
            at, best = found
            return at

        ddmin.minimise_list(list(graph.outputs), batch)
        return best


class Delta:
    """Delta debugging over the nodes: any of them may go, and what others read of them becomes an input.

    Asks `2 k log2(n)` times for `k` nodes to blame out of `n`.
    """

    name = "delta"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        graph = graph_of(candidate)
        operations = [node.name for node in graph.nodes if node.counts]
        if len(operations) < 3:
            return candidate
        cutter = Cutter(graph)
        best = candidate

        def shorter(names: list[str]) -> Candidate | None:
            part = cutter.cut(names) if names else None
            if part is None or part.statements >= graph_of(best).statements:
                return None
            return candidate.with_graph(replace(part, runs=graph.runs))

        def batch(options: Sequence[list[str]]) -> int | None:
            nonlocal best
            found = ask.pick((at, shorter(names)) for at, names in enumerate(options))
            if found is None:
                return None
            at, best = found
            return at

        ddmin.minimise_list(operations, batch)
        return best


class Nodes:
    """Node by node, last first: bypass it by an argument of the same shape and dtype, make it an input, or drop its effect."""

    name = "nodes"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        names = [node.name for node in reversed(graph_of(candidate).nodes)]
        while names:
            found = ask.pick(self._everywhere(candidate, names))
            if found is None:
                break
            at, candidate = found
            names = names[at + 1 :]
        return candidate

    def _everywhere(
        self, candidate: Candidate, names: Sequence[str]
    ) -> Iterator[tuple[int, Candidate]]:
        graph = graph_of(candidate)
        for at, name in enumerate(names):
            node = graph.node(name)
            for option in self._options(graph, node) if node is not None else ():
                yield at, candidate.with_graph(option)

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
        names = [item.name for item in graph_of(candidate).inputs]
        steps = (
            self._no_grad,
            self._argument,
            self._no_alias,
            self._layout,
            self._recipe,
            self._small,
            self._dtype,
        )
        changes = [functools.partial(_changed, name, step) for name in names for step in steps]
        everything = candidate
        for change in changes:
            everything = change(everything) or everything
        if everything != candidate and (found := ask.first([everything])) is not None:
            return found
        return ask.sweep(candidate, changes)

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
    def _small(item: Input) -> Input | None:
        if item.recipe.kind == "randint" and item.recipe.high > 2:
            return replace(item, recipe=Recipe("randint", 0, 2))
        return None

    @staticmethod
    def _dtype(item: Input) -> Input | None:
        if item.meta.is_float and item.meta.dtype != "float32":
            return replace(item, meta=replace(item.meta, dtype="float32"))
        return None


def _changed(
    name: str, step: Callable[[Input], Input | None], candidate: Candidate
) -> Candidate | None:
    graph = graph_of(candidate)
    item = graph.input(name)
    new = step(item) if item is not None else None
    return candidate.with_graph(with_input(graph, item, new)) if item and new else None


class Precision:
    """Dtype and device of the whole program at once: the CPU, and single precision, if the failure shows there too."""

    name = "precision"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        return ask.sweep(
            candidate,
            [
                lambda c: c.with_graph(retyped(graph_of(c), {}, "cpu")),
                lambda c: c.with_graph(retyped(graph_of(c), _SINGLE, None)),
            ],
        )


_SINGLE = {"float16": "float32", "bfloat16": "float32", "float64": "float32"}


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

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
    TensorMeta,
    Value,
    impure,
    prune,
)
from anonymizer.layouts import contiguous
from reporter.candidate import Candidate
from reporter.reduce import ddmin
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


def is_tensor(graph: Graph, name: str) -> bool:
    """Whether a value is known to be one tensor."""
    return isinstance(graph.meta_of(name), TensorMeta)


def stand_in(graph: Graph, name: str, meta: TensorMeta) -> Recipe:
    """Values for an intermediate that becomes an input: an integer keeps the range of what it was computed from."""
    if meta.is_float or meta.dtype.startswith("complex"):
        return Recipe("randn")
    if meta.dtype == "bool":
        return Recipe("bool")
    producers = {node.name: node for node in graph.nodes}
    pending, seen = [name], set()
    while pending:
        current = pending.pop(0)
        item = graph.input(current)
        if item is not None and item.meta.dtype == meta.dtype and item.recipe.kind == "randint":
            return item.recipe
        if current in producers and current not in seen:
            seen.add(current)
            pending.extend(producers[current].refs())
    return Recipe("randint", 0, 2)


def cut_inputs(graph: Graph, names: Iterable[str]) -> Graph | None:
    """The graph with the given tensor values turned into inputs (fed synthetically), their producers dropped if unused."""
    fresh: list[Input] = []
    replaced: dict[str, str] = {}
    for name in names:
        meta = graph.meta_of(name)
        if not isinstance(meta, TensorMeta):
            return None
        recipe = stand_in(graph, name, meta)
        new = f"c{name}"
        requires = meta.requires_grad and meta.is_float
        fresh.append(Input(new, "input", replace(meta, requires_grad=requires), recipe))
        replaced[name] = new

    def change(ref: Ref) -> Value:
        return Ref(replaced.get(ref.name, ref.name))

    nodes = tuple(node.map_refs(change) for node in graph.nodes if node.name not in replaced)
    outputs = tuple(ref for ref in graph.outputs if ref.name not in replaced)
    if not outputs:
        return None
    return prune(Graph((*graph.inputs, *fresh), nodes, outputs, graph.runs))


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


def static(graph: Graph, sizes: dict[str, int]) -> Graph:
    """The graph with symbolic input sizes fixed."""
    return replace(graph, inputs=tuple(replace(item, symbols=()) for item in graph.inputs), runs=())


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


def prefix(graph: Graph, length: int) -> Graph | None:
    """The first `length` nodes; what the rest would have read, and what was an output already, is returned."""
    nodes = graph.nodes[:length]
    open_regions = [node for node in nodes if node.op == "enter"]
    closed = {ref for node in nodes if node.op == "exit" for ref in node.refs()}
    tail = [
        Node(f"exit_{node.name}", "exit", "exit", (Ref(node.name),))
        for node in reversed(open_regions)
        if node.name not in closed
    ]
    inside = {node.name for node in nodes}
    later = {name for node in graph.nodes[length:] for name in node.refs()} | {
        ref.name for ref in graph.outputs
    }
    live = [node.name for node in nodes if node.name in later and is_tensor(graph, node.name)]
    if not live:
        live = [node.name for node in nodes if is_tensor(graph, node.name)][-1:]
    if not live:
        return None
    assert set(live) <= inside
    return prune(
        Graph(graph.inputs, (*nodes, *tail), tuple(Ref(name) for name in live), graph.runs)
    )


def suffix(graph: Graph, start: int) -> Graph | None:
    """The nodes from `start` on; the tensors they read from before become inputs."""
    dropped = graph.nodes[:start]
    names = {node.name for node in dropped}
    read = {name for node in graph.nodes[start:] for name in node.refs()}
    scalars = {n.name for n in dropped if n.name in read and not is_tensor(graph, n.name)}
    kept = scalars | {node.name for node in dropped if node.op == "enter"}
    wanted = [
        ref
        for node in graph.nodes
        if node.name in kept or node.name not in names
        for ref in node.refs()
    ]
    cuts = [
        name for name in dict.fromkeys(wanted) if name in names - kept and is_tensor(graph, name)
    ]
    nodes = tuple(n for n in graph.nodes if n.name in kept or n.name in cuts or n.name not in names)
    outputs = tuple(ref for ref in graph.outputs if ref.name not in names)
    if not outputs:
        return None
    whole = replace(graph, nodes=nodes, outputs=outputs)
    return cut_inputs(whole, cuts) if cuts else prune(whole)


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
            if _alike(graph, other, node.name):
                shorter = _substitute(graph, node.name, other)
                if shorter is not None and len(shorter.nodes) < size:
                    yield shorter
        if is_tensor(graph, node.name) and users:
            cut = cut_inputs(graph, [node.name])
            if cut is not None and len(cut.nodes) < size:
                yield cut
                yield from _other_range(cut, f"c{node.name}")


def _other_range(graph: Graph, name: str) -> Iterator[Graph]:
    """The same with a new integer input in a wider range that leaves zero out."""
    item = graph.input(name)
    if item is not None and item.recipe.kind == "randint":
        yield _with_input(graph, item, replace(item, recipe=Recipe("randint", 1, 100)))


def _alike(graph: Graph, one: str, two: str) -> bool:
    a, b = graph.meta_of(one), graph.meta_of(two)
    return (
        isinstance(a, TensorMeta)
        and isinstance(b, TensorMeta)
        and (a.shape, a.dtype) == (b.shape, b.dtype)
    )


def _substitute(graph: Graph, old: str, new: str) -> Graph | None:
    def change(ref: Ref) -> Value:
        return Ref(new) if ref.name == old else ref

    nodes = tuple(node.map_refs(change) for node in graph.nodes if node.name != old)
    outputs = tuple(dict.fromkeys(Ref(new) if ref.name == old else ref for ref in graph.outputs))
    made = {node.name for node in nodes}
    if not any(ref.name in made for ref in outputs):
        return None
    return prune(Graph(graph.inputs, nodes, outputs, graph.runs))


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
                            [candidate.with_graph(_with_input(graph_of(candidate), item, changed))]
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


def _with_input(graph: Graph, old: Input, new: Input) -> Graph:
    inputs = tuple(new if item.name == old.name else item for item in graph.inputs)
    return replace(graph, inputs=inputs)


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

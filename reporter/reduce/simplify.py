"""The passes that make a program plainer without making it shorter: what surrounds it, what feeds
it, its dtype and device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from anonymizer.graph import stock_layers
from anonymizer.graph.boilerplate import ReproCheck
from anonymizer.graph.ir import Graph, Input, Recipe
from anonymizer.graph.layouts import contiguous
from reporter.core.candidate import Candidate
from reporter.core.kinds import WRONG_AT_ONCE, Kind
from reporter.reduce.graph_cuts import retype, with_input
from reporter.reduce.questions import Change, Questions, graph_of

#: A plainer input made from one, or None where it is plain already.
_Step = Callable[[Input], "Input | None"]


class PlainOptions:
    """Drops what surrounds the program: contexts, config assignments, torch.compile arguments,
    gradients of plain inputs.
    """

    name = "options"

    def __init__(self, last: bool = False) -> None:
        # the backend goes last: a cheaper one than the user's makes every candidate before cheaper
        self.last = last

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        return ask.sweep(candidate, self._changes(candidate))

    def _changes(self, candidate: Candidate) -> Iterator[Change]:
        check = candidate.check
        for context in check.contexts:
            yield functools.partial(_without, "contexts", context)
        for item in self._removable(candidate):
            yield functools.partial(_without, "config", item)
        for item in check.arguments:
            if item[0] != "backend" or self.last and not _draws_alike(candidate):
                yield functools.partial(_without, "arguments", item)
        yield lambda c: c.with_check(evaluation=False)
        yield lambda c: c.with_check(compare_inputs=False)

    @staticmethod
    def _removable(candidate: Candidate) -> Iterator[tuple[str, str]]:
        """The config assignments that may go without making the comparison itself wrong."""
        fixed = _draws_alike(candidate)
        for item in candidate.check.config:
            if fixed and item[0].endswith("fallback_random"):
                continue
            if item[0].endswith("emulate_precision_casts") and candidate.coarse:
                continue  # without it the difference could be a skipped rounding, which is no bug
            yield item

    @staticmethod
    def without_config(candidate: Candidate) -> Candidate:
        """Without any config assignment that may go."""
        return _together(
            (
                functools.partial(_without, "config", item)
                for item in PlainOptions._removable(candidate)
            ),
            candidate,
        )

    @staticmethod
    def plainest(candidate: Candidate) -> Candidate:
        """Without contexts and torch.compile arguments other than the backend; what is compared and
        config stay.
        """
        backend = tuple(item for item in candidate.check.arguments if item[0] == "backend")
        return candidate.with_check(contexts=(), arguments=backend, evaluation=False)


def _draws_alike(candidate: Candidate) -> bool:
    """Whether values of a program that draws are compared: nothing goes then that makes both sides
    draw alike.
    """
    return candidate.draws and candidate.check.kind in WRONG_AT_ONCE


def _without(field: str, item: object, candidate: Candidate) -> Candidate:
    left = tuple(each for each in getattr(candidate.check, field) if each != item)
    return candidate.with_check(**{field: left})


class PlainBackward:
    """The simplest way to ask for gradients that still shows the failure: a plain sum, and only
    where needed.
    """

    name = "backward"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        options = [candidate.with_check(backward=how) for how in self._plainer(candidate.check)]
        return ask.first(options) or candidate

    def plainest(self, candidate: Candidate) -> Candidate:
        """Without gradients, or with those of a sum where they are what is wrong."""
        plainer = self._plainer(candidate.check)
        return candidate.with_check(backward=plainer[0]) if plainer else candidate

    @staticmethod
    def _plainer(check: ReproCheck) -> list[str]:
        if check.backward == "none":
            return []
        options = [] if check.kind == Kind.WRONG_GRADIENT else ["none"]
        return options if check.backward == "sum" else [*options, "sum"]


class PlainInputs:
    """Plainer inputs: no gradient, default layout, no alias, plain random floats; private state as
    plain arguments.
    """

    name = "inputs"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """All changes at once, else one after another; each has to keep the failure."""
        changes = list(self._changes(candidate, (*self._steps(), self._dtype)))
        everything = _together(changes, candidate)
        if everything != candidate and (found := ask.first([everything])) is not None:
            return found
        return ask.sweep(candidate, changes)

    def plainest(self, candidate: Candidate) -> Candidate:
        """All of it at once, except that every dtype stays."""
        return _together(self._changes(candidate, self._steps()), candidate)

    def _steps(self) -> tuple[_Step, ...]:
        return (
            self._no_grad,
            self._argument,
            self._no_alias,
            self._layout,
            self._recipe,
            self._ordinary,
            self._small,
        )

    @staticmethod
    def _changes(candidate: Candidate, steps: Iterable[_Step]) -> Iterator[Change]:
        for item in graph_of(candidate).inputs:
            for step in steps:
                yield functools.partial(_change, item.name, step)

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
        if item.kind == "param" and item.meta.is_float and item.recipe != Recipe("randn"):
            return replace(item, recipe=Recipe("randn"))
        plain = (
            item.recipe.kind in ("randn", "rand", "bool", "zeros", "ones")
            and not item.recipe.specials
        )
        if plain or item.kind != "input":
            return None
        if item.meta.is_float:
            return replace(item, recipe=Recipe("randn"))
        if item.recipe.kind == "randint" and item.recipe.low != 0 and item.recipe.high > 1:
            return replace(item, recipe=Recipe("randint", 0, item.recipe.high))
        return None

    @staticmethod
    def _ordinary(item: Input) -> Input | None:
        """Without its zeros, NaNs and infinities."""
        return (
            replace(item, recipe=replace(item.recipe, specials=()))
            if item.recipe.specials
            else None
        )

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


def _together(changes: Iterable[Change], candidate: Candidate) -> Candidate:
    for change in changes:
        candidate = change(candidate) or candidate
    return candidate


def _change(name: str, step: _Step, candidate: Candidate) -> Candidate | None:
    graph = graph_of(candidate)
    item = graph.input(name)
    new = step(item) if item is not None else None
    return candidate.with_graph(with_input(graph, item, new)) if item and new else None


class Precision:
    """Dtype and device of the whole program at once: the CPU, and single precision, if the failure
    shows there too.
    """

    name = "precision"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        return ask.sweep(
            candidate,
            [
                lambda c: c.with_graph(retype(graph_of(c), {}, "cpu")),
                lambda c: c.with_graph(retype(graph_of(c), _SINGLE, None)),
            ],
        )


_SINGLE = {"float16": "float32", "bfloat16": "float32", "float64": "float32"}


class Unstock:
    """A parameter nobody needs as a layer becomes a plain argument: the module disappears when it
    adds nothing.
    """

    name = "parameters"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        plain = self.plainest(candidate)
        return candidate if plain == candidate else ask.first([plain]) or candidate

    def plainest(self, candidate: Candidate) -> Candidate:
        """All of them as arguments; gradients that are wrong stay those of parameters."""
        graph = graph_of(candidate)
        if candidate.check.kind == Kind.WRONG_GRADIENT:
            return candidate
        inputs = tuple(
            (
                replace(item, kind="input")
                if item.kind == "param" and not self._owns_memory(graph, item)
                else item
            )
            for item in graph.inputs
        )
        return candidate.with_graph(replace(graph, inputs=inputs))

    @staticmethod
    def _owns_memory(graph: Graph, item: Input) -> bool:
        users = graph.users()
        matches = (stock_layers.match(graph, node, users) for node in graph.nodes)
        return any(match is not None and item.name in match.owns for match in matches)

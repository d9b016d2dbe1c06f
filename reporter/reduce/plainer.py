"""The passes that make a program plainer without making it shorter: what surrounds it, what feeds it, its dtype and device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace

from anonymizer import stock
from anonymizer.ir import Graph, Input, Recipe
from anonymizer.layouts import contiguous
from reporter.candidate import Candidate
from reporter.reduce.cuts import retyped, with_input
from reporter.reduce.questions import Change, Questions, graph_of


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
            self._ordinary,
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
        if item.kind == "param" and item.meta.is_float and item.recipe != Recipe("randn"):
            return replace(item, recipe=Recipe("randn"))
        plain = item.recipe.kind in ("randn", "bool", "zeros", "ones") and not item.recipe.specials
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

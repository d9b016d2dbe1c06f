"""The first candidates: the failing graph, or the rewritten source, under the assertion that
its verdict asks for.

They are made lazily, from plain to elaborate: plain values first, the user's own settings first.
The first that shows the failure in a worker is where reduction starts.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from anonymizer.graph import recipes
from anonymizer.graph.compilation import add_reloading
from anonymizer.graph.ir import Graph, Input, Recipe, give_written_state
from anonymizer.graph.ir_json import UNREADABLE, read_graph
from anonymizer.graph.repro import DERIVATIVE_CHECKS, ReproAssertion
from anonymizer.plain.dynamic_shapes import EVERY_DIMENSION
from collectors.protocol.captured_graph import GraphJson
from collectors.protocol.graphs import CaptureWay
from collectors.protocol.repro_words import CACHED
from reporter.core.candidate import Candidate, Content
from reporter.core.kinds import (
    EXPORTERS,
    INDUCTOR_LAYERS,
    SEVERAL_CALLS,
    WRONG_AT_ONCE,
    WRONG_OUTPUTS,
    Backend,
    Compiler,
    Differentiation,
    Kind,
    Layer,
)
from reporter.reduce.pieces import list_larger_pieces

#: The cheapest backend that shows a fault of a layer.
QUICKER: Mapping[Layer, Backend] = {
    Layer.DYNAMO: Backend.EAGER,
    Layer.AOT_AUTOGRAD: Backend.AOT_EAGER,
}

#: Points at which a derivative is tried: all of three matrices, or of four vectors.
_MOST_POINTS = 27


def choose_cheaper_backend(assertion: ReproAssertion, layer: Layer) -> ReproAssertion | None:
    """The assertion with the cheapest backend that has the fault, too; None where there is none, or
    the assertion has a backend of its own.
    """
    if layer not in QUICKER or assertion.read_backend() is not None:
        return None
    kept = assertion.without_argument("mode").without_argument("options").arguments
    return replace(assertion, arguments=(("backend", repr(QUICKER[layer].value)), *kept))


def build_graph_candidates(
    captured: GraphJson, way: CaptureWay, assertion: ReproAssertion, layer: Layer
) -> Iterator[Candidate]:
    """Candidates of one captured graph, the ones that are quick to try and quick to read first.

    The whole graph with plain values; for wrong values its blocks alone, where the noise of the
    rest is gone; then the whole graph with ever closer values.

    Args:
        captured: a graph as the target sent it; there are none of one that it cannot write down, or
            that cannot be made public.
        way: how it was captured: with the earlier calls, and with dynamic sizes.
        assertion: what the verdict asks for; candidates may assert the same more cheaply.
        layer: the one at fault, which says what is cheaper.
    """
    if "unsupported" in captured:
        return
    for level in recipes.list_value_levels(item.get("stats") for item in captured["inputs"]):
        try:
            graph = read_graph(captured, recipes.make_recipe_chooser(level))
        except UNREADABLE:
            return
        if not graph.outputs and not graph.nodes:
            return
        given = give_written_state(graph) if _compares_state(assertion) else graph
        for form in (graph,) if given is graph else (given, graph):
            yield from _list_candidates(form, level, way, assertion, layer)
    if assertion.backward in DERIVATIVE_CHECKS:
        yield from (Candidate(point, assertion) for point in _list_points(graph))


def _list_points(graph: Graph) -> Iterator[Graph]:
    """The graph at the points where formulas of derivatives divide by zero: each input all zeros,
    all ones or the identity, which no distribution makes of several inputs at once.
    """
    points = itertools.product(*map(_list_simple_values, graph.inputs))
    for point in itertools.islice(points, _MOST_POINTS):
        given = zip(graph.inputs, point)
        yield replace(graph, inputs=tuple(replace(item, recipe=recipe) for item, recipe in given))


def _list_simple_values(item: Input) -> tuple[Recipe, ...]:
    if not item.meta.is_float:
        return (item.recipe,)
    shape = item.meta.shape
    is_square = len(shape) > 1 and shape[-1] == shape[-2] > 1
    return (Recipe("zeros"), Recipe("ones"), *((Recipe("eye"),) if is_square else ()))


def _compares_state(assertion: ReproAssertion) -> bool:
    """Whether what the call writes to is compared; an exported program has a copy of its state."""
    return assertion.compare_inputs and assertion.compiler not in EXPORTERS


def _list_candidates(
    graph: Graph, level: str, way: CaptureWay, assertion: ReproAssertion, layer: Layer
) -> Iterator[Candidate]:
    """The whole graph with values of one level; of wrong values its pieces too, with plain ones."""
    graph, variants = _list_variants(graph, way, assertion, layer)
    for variant in variants:
        yield Candidate(graph, variant)
    if level == recipes.LEVELS[0] and assertion.kind in (Kind.WRONG_RESULT, Kind.WRONG_GRADIENT):
        quick = variants[:1] if len(graph.nodes) > 20 else variants
        yield from (
            Candidate(part, variant)
            for variant in quick
            for part in list_larger_pieces(graph)
            if part != graph
        )


def list_divisible_graphs(
    captured: GraphJson, way: CaptureWay, assertion: ReproAssertion, layer: Layer
) -> Iterator[tuple[Graph, Callable[[Graph], Candidate]]]:
    """A captured graph whose pieces may show the failure alone, with how to make a candidate of a
    piece.

    Once with plain values, and for wrong values again with the ranges that were seen, before that
    with NaNs or infinities where there were any, and last with values on one side of zero. A
    failure that needs several calls is left to the whole graph, whose sizes change together.

    The arguments are those of `build_graph_candidates`: `captured`, `way`, `assertion`, `layer`.
    """
    if "unsupported" in captured or way.get("replay") or assertion.kind in SEVERAL_CALLS:
        return
    tried = recipes.list_value_levels(item.get("stats") for item in captured["inputs"])
    wanted = ["plain"]
    if assertion.kind in WRONG_AT_ONCE:
        wanted += [level for level in (recipes.NOT_FINITE,) if level in tried]
        wanted += ["range", *recipes.ONE_SIDED]
    for level in wanted:
        try:
            graph = read_graph(captured, recipes.make_recipe_chooser(level))
        except UNREADABLE:
            return
        if _compares_state(assertion):
            graph = give_written_state(graph)
        for variant in _list_variants(graph, way, assertion, layer)[1][:1]:
            yield graph, functools.partial(_build_piece, variant)


def _build_piece(assertion: ReproAssertion, piece: Graph) -> Candidate:
    return Candidate(piece, replace(assertion, double=assertion.double and _has_floats(piece)))


def _has_floats(graph: Graph) -> bool:
    return any(i.meta.is_float or i.meta.dtype.startswith("complex") for i in graph.inputs)


def _list_variants(
    graph: Graph, way: CaptureWay, assertion: ReproAssertion, layer: Layer
) -> tuple[Graph, list[ReproAssertion]]:
    """The assertions to try on a graph: a cheaper backend that has the fault too before the user's
    own, sums before weights.
    """
    if not _has_floats(graph):
        assertion = replace(assertion, double=False)  # nothing float64 could be nearer to
    if way.get("replay") and len(graph.runs) > 1:
        graph, calls = fix_constant_sizes(graph)
        assertion = replace(assertion, calls=calls) if calls else assertion
    elif way.get("dynamic") and assertion.compiler not in EXPORTERS:
        assertion = replace(
            assertion,
            arguments=(*assertion.without_argument("dynamic").arguments, ("dynamic", "True")),
        )
    variants = _with_backward(assertion)
    if assertion.compiler in EXPORTERS:
        variants = _list_export_variants(assertion, layer, bool(way.get("dynamic")))
    if assertion.kind in WRONG_AT_ONCE and layer in QUICKER and Candidate(graph, assertion).draws:
        variants = (
            []
        )  # the user's own backend draws another stream: only the cheaper one can be compared
    cheaper = choose_cheaper_backend(assertion, layer)
    if cheaper is not None:
        variants.insert(0, cheaper)
    if assertion.backward == Differentiation.RANDN:
        variants = [
            replace(item, backward=way_back)
            for item in variants
            for way_back in (Differentiation.RANDN, Differentiation.SUM)
        ]
    if assertion.double and assertion.kind in WRONG_OUTPUTS:
        variants += [replace(item, double=False) for item in variants]
    return graph, variants


def _with_backward(assertion: ReproAssertion) -> list[ReproAssertion]:
    """The assertion; where the cache is at fault first with a backward pass after each call,
    without which AOTAutograd puts no training graph into its cache.
    """
    needs_none = any("no_grad" in each or "inference" in each for each in assertion.contexts)
    if CACHED not in assertion.config or assertion.backward != Differentiation.NONE or needs_none:
        return [assertion]
    return [replace(assertion, backward=Differentiation.SUM), assertion]


def _list_export_variants(
    assertion: ReproAssertion, layer: Layer, is_dynamic: bool
) -> list[ReproAssertion]:
    """The assertions of an exported program: through torch.compile where that is the faulty part,
    then exported, then through the file that the program goes through. With `is_dynamic` the sizes
    that may change are dynamic.
    """
    exported, compiled = assertion, replace(
        assertion, compiler=Compiler.COMPILE, steps=(), arguments=()
    )
    if is_dynamic:
        every = ("dynamic_shapes", EVERY_DIMENSION)
        exported = replace(assertion, arguments=(*assertion.arguments, every))
        compiled = replace(compiled, arguments=(("dynamic", "True"),))
    variants = [compiled, exported] if layer in INDUCTOR_LAYERS else [exported]
    return [*variants, *_list_reloading(exported)]


def _list_reloading(assertion: ReproAssertion) -> list[ReproAssertion]:
    """The assertion with the program saved and loaded; none where the script does not do that."""
    return [add_reloading(assertion)] if "save" in assertion.steps else []


def fix_constant_sizes(graph: Graph) -> tuple[Graph, tuple[tuple[tuple[str, int], ...], ...]]:
    """The graph with sizes that never change fixed, and the calls as bindings of those that do."""
    changing = {
        symbol
        for symbol, _ in graph.runs[-1]
        if len({dict(run).get(symbol) for run in graph.runs}) > 1
    }
    inputs = tuple(
        (
            replace(
                item,
                symbols=tuple(
                    s if isinstance(s, str) and s in changing else n
                    for s, n in zip(item.symbols, item.meta.shape)
                ),
            )
            if item.symbols
            else item
        )
        for item in graph.inputs
    )
    runs = tuple(tuple((s, n) for s, n in run if s in changing) for run in graph.runs)
    return replace(graph, inputs=inputs, runs=runs), tuple(run for run in runs if run)


def build_source_candidates(
    content: Content, assertion: ReproAssertion, layer: Layer
) -> Iterator[Candidate]:
    """Candidates of a rewritten source under the assertion, then under weaker ones.

    Args:
        content: what they consist of; only the assertion differs.
        assertion: what the verdict asks for.
        layer: the one at fault; a cheaper backend that shows it comes first.
    """
    assertions = _with_backward(assertion)
    cheaper = choose_cheaper_backend(assertion, layer)
    if cheaper is not None:
        assertions.insert(0, cheaper)
    if assertion.double:
        assertions += [replace(item, double=False) for item in assertions]
    for item in (*assertions, *_list_reloading(assertion)):
        yield Candidate(content, item)

"""The first candidates: the failing graph, or the rewritten source, under the check that its
verdict asks for.

Seeds are lazily ordered from plain to elaborate — plain values first, the user's own settings first
— and the first that shows the failure in a worker is where reduction starts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from anonymizer.graph import values
from anonymizer.graph.compilation import add_reloading
from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import Graph
from anonymizer.graph.ir_json import read_graph
from anonymizer.graph.repro import CACHED, ReproCheck
from anonymizer.plain.dynamic_shapes import EVERY_DIMENSION
from collectors.captured import GraphJson
from collectors.protocol.graphs import CaptureWay
from reporter.core.candidate import Candidate, Content
from reporter.core.kinds import (
    EXPORTERS,
    INDUCTOR_LAYERS,
    SEVERAL_CALLS,
    WRONG_AT_ONCE,
    WRONG_OUTPUTS,
    Backend,
    Compiler,
    Kind,
    Layer,
)
from reporter.reduce.pieces import list_larger_pieces

#: The cheapest backend that shows a fault of a layer.
QUICKER: Mapping[Layer, Backend] = {
    Layer.DYNAMO: Backend.EAGER,
    Layer.AOT_AUTOGRAD: Backend.AOT_EAGER,
}


def choose_cheaper_backend(check: ReproCheck, layer: Layer) -> ReproCheck | None:
    """The check with the cheapest backend that has the fault, too; None where there is none, or the
    check has a backend of its own.
    """
    if layer not in QUICKER or dict(check.arguments).get("backend") is not None:
        return None
    kept = check.without_argument("mode").without_argument("options").arguments
    return replace(check, arguments=(("backend", repr(QUICKER[layer].value)), *kept))


def build_graph_candidates(
    captured: GraphJson, way: CaptureWay, check: ReproCheck, layer: Layer
) -> Iterator[Candidate]:
    """Candidates of one captured graph, the ones that are quick to try and quick to read first.

    The whole graph with plain values; for wrong values its blocks alone, where the noise of the
    rest is gone; then the whole graph with ever closer values.
    """
    if "unsupported" in captured:
        return
    for level in values.list_value_levels(item.get("stats") for item in captured["inputs"]):
        try:
            graph = read_graph(captured, values.make_recipe_chooser(level))
        except (NotPublicError, KeyError, ValueError, TypeError):
            return
        if not graph.outputs and not graph.nodes:
            return
        graph, variants = _variants(graph, way, check, layer)
        for variant in variants:
            yield Candidate(graph, variant)
        if level == values.LEVELS[0] and check.kind in (Kind.WRONG_RESULT, Kind.WRONG_GRADIENT):
            quick = variants[:1] if len(graph.nodes) > 20 else variants
            yield from (
                Candidate(part, variant)
                for variant in quick
                for part in list_larger_pieces(graph)
                if part != graph
            )


def list_slices(
    captured: GraphJson, way: CaptureWay, check: ReproCheck, layer: Layer
) -> Iterator[tuple[Graph, Callable[[Graph], Candidate]]]:
    """A captured graph whose pieces may show the failure alone, with how to make a candidate of a
    piece.

    Once with plain values, and for wrong values again with the ranges that were seen, before that
    with NaNs or infinities where there were any, and last with values on one side of zero. A
    failure that needs several calls is left to the whole graph, whose sizes change together.
    """
    if "unsupported" in captured or way.get("replay") or check.kind in SEVERAL_CALLS:
        return
    tried = values.list_value_levels(item.get("stats") for item in captured["inputs"])
    wanted = ["plain"]
    if check.kind in WRONG_AT_ONCE:
        wanted += [level for level in (values.NOT_FINITE,) if level in tried]
        wanted += ["range", *values.ONE_SIDED]
    for level in wanted:
        try:
            graph = read_graph(captured, values.make_recipe_chooser(level))
        except (NotPublicError, KeyError, ValueError, TypeError):
            return
        for variant in _variants(graph, way, check, layer)[1][:1]:
            yield graph, functools.partial(_piece, variant)


def _piece(check: ReproCheck, piece: Graph) -> Candidate:
    return Candidate(piece, replace(check, double=check.double and _has_floats(piece)))


def _has_floats(graph: Graph) -> bool:
    return any(i.meta.is_float or i.meta.dtype.startswith("complex") for i in graph.inputs)


def _variants(
    graph: Graph, way: CaptureWay, check: ReproCheck, layer: Layer
) -> tuple[Graph, list[ReproCheck]]:
    """The checks to try on a graph: a cheaper backend that has the fault too before the user's own,
    sums before weights.
    """
    if not _has_floats(graph):
        check = replace(check, double=False)  # nothing float64 could be nearer to
    if way.get("replay") and len(graph.runs) > 1:
        graph, calls = fix_constant_sizes(graph)
        check = replace(check, calls=calls) if calls else check
    elif way.get("dynamic"):
        check = replace(
            check, arguments=(*check.without_argument("dynamic").arguments, ("dynamic", "True"))
        )
    variants = _with_backward(check)
    if check.compiler in EXPORTERS:
        variants = _export_checks(check, layer)
    if check.kind in WRONG_AT_ONCE and layer in QUICKER and Candidate(graph, check).draws:
        variants = (
            []
        )  # the user's own backend draws another stream: only the cheaper one can be compared
    cheaper = choose_cheaper_backend(check, layer)
    if cheaper is not None:
        variants.insert(0, cheaper)
    if check.backward == "randn":
        variants = [
            replace(item, backward=way_back) for item in variants for way_back in ("randn", "sum")
        ]
    if check.double and check.kind in WRONG_OUTPUTS:
        variants += [replace(item, double=False) for item in variants]
    return graph, variants


def _with_backward(check: ReproCheck) -> list[ReproCheck]:
    """The check; where the cache is at fault first with a backward pass after each call, without
    which AOTAutograd puts no training graph into its cache.
    """
    needs_none = any("no_grad" in each or "inference" in each for each in check.contexts)
    if CACHED not in check.config or check.backward != "none" or needs_none:
        return [check]
    return [replace(check, backward="sum"), check]


def _export_checks(check: ReproCheck, layer: Layer) -> list[ReproCheck]:
    """The checks of an exported program: through torch.compile where that is the faulty part, then
    with sizes as they are, then with dynamic ones, then through the file that the program goes
    through.
    """
    dynamic = (*check.arguments, ("dynamic_shapes", EVERY_DIMENSION))
    variants = [check, replace(check, arguments=dynamic)]
    if layer in INDUCTOR_LAYERS:
        compiled = replace(check, compiler=Compiler.COMPILE, steps=(), arguments=())
        variants = [compiled, check]
    return [*variants, *_reloading(check)]


def _reloading(check: ReproCheck) -> list[ReproCheck]:
    """The check with the program saved and loaded; none where the script does not do that."""
    return [add_reloading(check)] if "save" in check.steps else []


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
    content: Content, check: ReproCheck, layer: Layer
) -> Iterator[Candidate]:
    """Candidates of a rewritten source under the check, then under weaker ones."""
    checks = _with_backward(check)
    cheaper = choose_cheaper_backend(check, layer)
    if cheaper is not None:
        checks.insert(0, cheaper)
    if check.double:
        checks += [replace(item, double=False) for item in checks]
    for item in (*checks, *_reloading(check)):
        yield Candidate(content, item)

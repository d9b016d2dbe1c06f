"""The first candidates: the failing graph, or the rewritten source, under the check that its
verdict asks for.

Seeds are lazily ordered from plain to elaborate — plain values first, the user's own settings first
— and the first that shows the failure in a worker is where reduction starts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anonymizer.graph import values
from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import Graph
from anonymizer.graph.ir_json import read_graph
from anonymizer.graph.repro import CACHED, ReproCheck
from anonymizer.plain.dynamic_shapes import EVERY_DIMENSION
from collectors.captured import GraphJson
from collectors.protocol import (
    CaptureWay,
    CompileOptions,
    ContextState,
    EnvironmentFacts,
)
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
    RungOutcome,
)
from reporter.diagnose.rungs import EAGER, EMULATED_CASTS, EXACT, NON_STRICT, STRICT
from reporter.diagnose.verdict import Diagnosis
from reporter.recording import questions
from reporter.recording.call_session import refuse_lost
from reporter.reduce.pieces import list_larger_pieces

_KEPT_ARGUMENTS = ("mode", "dynamic", "fullgraph", "options")


def build_check(
    diagnosis: Diagnosis,
    environment: EnvironmentFacts | None,
    prelude: str = "",
    words: Collection[str] = (),
) -> ReproCheck:
    """The check of a diagnosis: same kind, and the settings that the recorded call ran under.

    `words` are those of torch's own interface, the only texts that arguments keep.
    """
    finding, ladder = diagnosis.finding, diagnosis.ladder
    assert finding is not None and ladder is not None
    changed = diagnosis.comparison["values"] if diagnosis.comparison else []
    compared = diagnosis.signature.property if diagnosis.signature else None
    refused = ladder[EAGER].outcome == RungOutcome.RAISES
    return ReproCheck(
        kind=diagnosis.kind,
        compiler=finding.compiler,
        steps=tuple(finding.options.get("steps") or ()),
        arguments=_arguments(diagnosis, bool(prelude), words),
        config=_config(diagnosis, environment),
        contexts=tuple(_contexts(finding.context)),
        backward=finding.options.get("derivative") or ("randn" if finding.grads else "none"),
        property=compared,
        double=compared is None and (ladder[EXACT].agrees or diagnosis.kind == Kind.WRONG_GRADIENT),
        compare_inputs=any(
            item["property"] == "changed input" and not item["same"] for item in changed
        ),
        eager_raises=refused and diagnosis.kind == Kind.PROCESS_DEATH,
        prelude="\n\n\n".join(
            filter(None, (write_settings(finding.context, environment), prelude))
        ),
    )


def _arguments(
    diagnosis: Diagnosis, custom: bool, words: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """The arguments of what makes the callable, as text."""
    assert diagnosis.finding is not None
    options = diagnosis.finding.options
    if diagnosis.finding.compiler == Compiler.COMPILE:
        return write_compile_arguments(options, custom)
    if diagnosis.finding.compiler == Compiler.ONNX:
        return write_onnx_arguments(options, words)
    return write_strictness(diagnosis)


def _config(
    diagnosis: Diagnosis, environment: EnvironmentFacts | None
) -> tuple[tuple[str, str], ...]:
    """The settings that the call ran under, and those under which the failure was seen."""
    ladder = diagnosis.ladder
    assert ladder is not None
    lines = (
        write_config_lines(environment["configs"], environment["choices"]) if environment else ()
    )
    config = dict(lines)
    draws = bool(ladder.facts.get("random")) and diagnosis.kind in WRONG_AT_ONCE
    if draws and diagnosis.layer in INDUCTOR_LAYERS:
        config["torch._inductor.config.fallback_random"] = "True"
    if diagnosis.is_from_cache:
        config.update([CACHED])
    if ladder[EMULATED_CASTS].outcome == RungOutcome.DIFFERS:
        config["torch._inductor.config.emulate_precision_casts"] = "True"
    return tuple(config.items())


def _contexts(context: ContextState) -> Iterator[str]:
    """The contexts that the call was made in, as expressions."""
    if context["inference"]:
        yield "torch.inference_mode()"
    elif not context["grad"]:
        yield "torch.no_grad()"
    for device, (enabled, dtype) in context["autocast"].items():
        if enabled:
            yield f'torch.autocast("{device}", dtype={dtype})'


def write_settings(context: ContextState, environment: EnvironmentFacts | None) -> str:
    """Global switches that were not at their default, as statements."""
    lines = []
    if context["default_dtype"] != "torch.float32":
        lines.append(f"torch.set_default_dtype({context['default_dtype']})")
    if context["deterministic"]:
        lines.append("torch.use_deterministic_algorithms(True)")
    cores = environment["cores"] if environment else None
    if context["threads"] == 1 and cores and cores > 1:
        lines.append("torch.set_num_threads(1)")
    if context["matmul_precision"] != "highest":
        lines.append(f'torch.set_float32_matmul_precision("{context["matmul_precision"]}")')
    return "\n".join(lines)


def write_config_lines(
    configs: Mapping[str, Any], choices: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Non-default torch configuration as assignments; only plain values, and strings that torch
    offers (`choices`).
    """
    kept = []
    for name, value in configs.items():
        plain = isinstance(value, (bool, int, float)) or value is None or name in choices
        if (
            plain
            and name.startswith("torch.")
            and ".config." in name
            and name.rsplit(".", 1)[-1] != "compile_threads"
        ):
            kept.append((name, repr(value)))
    return tuple(kept)


def write_compile_arguments(options: CompileOptions, custom: bool) -> tuple[tuple[str, str], ...]:
    """The torch.compile keyword arguments as text; options are torch's own names and plain
    values.
    """
    found = []
    backend = options.get("backend", Backend.INDUCTOR.value)
    if isinstance(backend, dict):
        if custom:
            found.append(("backend", "custom_backend"))
    elif isinstance(backend, str) and backend != Backend.INDUCTOR:
        found.append(("backend", repr(backend)))
    for name in _KEPT_ARGUMENTS:
        value = options.get(name)
        if value is None or value is False and name == "fullgraph" or value == "default":
            continue
        if isinstance(value, dict) and not all(
            isinstance(v, (bool, int, float, str)) for v in value.values()
        ):
            continue
        found.append((name, repr(value)))
    return tuple(found)


def write_onnx_arguments(
    options: CompileOptions, words: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """The arguments of torch.onnx.export as text; of names those that are words of torch stay,
    since nodes may have them too.
    """
    found = []
    for argument in ("input_names", "output_names"):
        names = list(options.get(argument) or ())
        if any(name in words for name in names):
            public = [name if name in words else f"name{at}" for at, name in enumerate(names)]
            found.append((argument, repr(public)))
    for argument, default in (("opset_version", None), ("optimize", True)):
        value = options.get(argument, default)
        if isinstance(value, (bool, int)) and value != default:
            found.append((argument, repr(value)))
    return tuple(found)


def write_strictness(diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    """The `strict` of torch.export.export, where the failure is there in that mode alone."""
    assert diagnosis.ladder is not None and diagnosis.finding is not None
    modes = {True: diagnosis.ladder[STRICT], False: diagnosis.ladder[NON_STRICT]}
    own = diagnosis.finding.options.get("strict")
    if own is None or modes[not own].outcome == modes[bool(own)].outcome:
        return ()
    return (("strict", repr(bool(own))),)


def capture_graphs(
    diagnosis: Diagnosis, climber_timeout: float, allow: Sequence[str] = ()
) -> Iterator[tuple[GraphJson, CaptureWay]]:
    """Captured graphs with how they were captured, likeliest to fail first (the last one that ran).

    `allow` names the tensors whose values may be captured, too. Raises CannotJudgeError if the
    process that holds the call was ended.
    """
    finding = diagnosis.finding
    assert finding is not None
    if diagnosis.kind == Kind.HANG and diagnosis.layer == Layer.DYNAMO:
        return  # no graph comes of a trace that does not end
    ways: list[CaptureWay] = [{"replay": False}]
    if finding.replay or diagnosis.kind in SEVERAL_CALLS:
        sequence: CaptureWay = {"replay": True}
        ways = [sequence, *ways] if diagnosis.kind in SEVERAL_CALLS else [*ways, sequence]
        ways.append({"replay": False, "dynamic": True})
    for way in ways:
        answer = finding.call_session.request(questions.capture(way, allow), climber_timeout)
        refuse_lost(answer)
        for graph in reversed(answer.get("graphs") or []):
            yield graph, way


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
        # the user's own backend draws another stream: only the cheaper one can be compared
        variants = []
    own = dict(check.arguments).get("backend") is None
    if own and layer in QUICKER:
        kept = tuple(item for item in check.arguments if item[0] not in ("mode", "options"))
        variants.insert(
            0, replace(check, arguments=(("backend", repr(QUICKER[layer].value)), *kept))
        )
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
    with sizes as they are, then with dynamic ones.
    """
    dynamic = (*check.arguments, ("dynamic_shapes", EVERY_DIMENSION))
    variants = [check, replace(check, arguments=dynamic)]
    if layer in INDUCTOR_LAYERS:
        compiled = replace(check, compiler=Compiler.COMPILE, steps=(), arguments=())
        variants = [compiled, check]
    return variants


#: The cheapest backend that shows a fault of a layer.
QUICKER: Mapping[Layer, Backend] = {
    Layer.DYNAMO: Backend.EAGER,
    Layer.AOT_AUTOGRAD: Backend.AOT_EAGER,
}


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
    if dict(check.arguments).get("backend") is None and layer in QUICKER:
        kept = tuple(item for item in check.arguments if item[0] not in ("mode", "options"))
        checks.insert(0, replace(check, arguments=(("backend", repr(QUICKER[layer].value)), *kept)))
    if check.double:
        checks += [replace(item, double=False) for item in checks]
    for item in checks:
        yield Candidate(content, item)

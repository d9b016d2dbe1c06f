"""Both sides return, and something differs: whose fault is it?

A difference is a bug only when nothing excuses it; an excuse counts only with its measurement (see
`excuses`). What is left is wrong, and a reused graph that is right when compiled afresh is stale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from collectors.protocol.comparison import Comparison, MetadataDifference
from collectors.protocol.repro_words import Property
from reporter.core.kinds import INDUCTOR_LAYERS, Backend, Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.diagnose.comparisons import (
    DERIVATIVE_ROLES,
    describe,
    drop_metadata,
    find_gravest_difference,
    is_of_tangents,
    list_significant_differences,
)
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.excuses import (
    OF_EAGER,
    OF_RANDOM_NUMBERS,
    OF_VALUES,
    differs,
    excuse,
    judge_harmless_difference,
)
from reporter.diagnose.ladder import LadderRunner, MeasuredRung
from reporter.diagnose.measuring import (
    climb,
    describe_frequency,
    find_failing_layer,
    is_never_repeated,
    make_diagnosis,
    measure_steadiness,
)
from reporter.diagnose.rungs import (
    AGAIN,
    CACHES_OFF,
    COMPILED,
    EAGER,
    EXACT,
    FALLBACK_RANDOM,
    FRESH,
    NOT_DYNAMIC,
    SCRIPT,
)
from reporter.recording.side_effects import is_state
from templates.summaries import EFFECT_SUMMARY, SUMMARIES, TANGENT_SUMMARY

_OTHER_METADATA = "The compiled result has other metadata than eager's"
#: Of a reused graph that came out of a cache: the call was compiled, and needs no guard.
_FROM_CACHE = (
    "The code that the compiler's cache gives for this call is that of other inputs; with the"
    " caches off the call is right"
)


@dataclass(frozen=True)
class _Fault:
    """A difference that nothing excuses: in how many of how many runs it was `seen`, and the rungs
    that are `cited` for it beside those of every difference.
    """

    kind: Kind
    layer: Layer
    seen: tuple[int, int]
    cited: tuple[str, ...] = ()


def judge_difference(runner: LadderRunner) -> Diagnosis:
    """The verdict on a call that returns something else than eager does."""
    finding, ladder = runner.finding, runner.ladder
    script = MeasuredRung(SCRIPT, RungOutcome.DIFFERS, comparison=finding.comparison)
    unsteady = excuse(runner, script, OF_EAGER) if finding.comparison else None
    if unsteady:
        return unsteady
    climb(runner)
    # the gradients of a fresh compile are what was compared
    compiled = ladder[runner.find_own_rung() if finding.grads else COMPILED]
    if compiled.comparison is not None:
        other_numbers = excuse(runner, compiled, OF_RANDOM_NUMBERS)
        if other_numbers:
            return other_numbers
        compiled = _choose_without_other_draws(runner, compiled)
    if compiled.agrees and finding.grads and finding.original.replay:
        runner.measure(COMPILED)
        stale = judge_stale_gradient(runner)
        if stale is not None:
            return stale
    if compiled.comparison is None or compiled.agrees:
        return _judge_own_call(runner, compiled)
    return excuse(runner, compiled, OF_VALUES) or _diagnose(runner, compiled)


def _choose_without_other_draws(runner: LadderRunner, compiled: MeasuredRung) -> MeasuredRung:
    """The rung whose difference is looked at, where drawing other random numbers than eager mode
    may be all of it: one that draws the same.
    """
    forced = runner.ladder[FALLBACK_RANDOM]
    if forced.agrees:
        return runner.ladder[Backend.AOT_EAGER]
    return forced if forced.comparison else compiled


def _judge_own_call(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis:
    """The verdict where the script's call differs from eager mode, and no repetition of it does.

    Args:
        compiled: the repetition, which agrees with eager mode or was not compared.
    """
    own = None if runner.ladder.facts.get("random") else runner.judge_own_call()
    if own is None or own.agrees:
        return judge_harmless_difference(runner, compiled)
    seen = measure_steadiness(runner, differs)
    if is_never_repeated(runner, seen):
        summary = (
            f"The script's compiled call differed from eager ({own.detail}), but none of"
            f" {seen[1] - 1} repetitions did."
        )
        return make_diagnosis(
            runner, Kind.NOT_REPRODUCED, Layer.NONE, summary, (COMPILED,), reproduced=seen
        )
    return excuse(runner, own, OF_VALUES) or _diagnose(runner, own, seen)


def _diagnose(
    runner: LadderRunner, compiled: MeasuredRung, seen: tuple[int, int] | None = None
) -> Diagnosis:
    """The verdict on a difference that nothing excuses."""
    comparison = compiled.comparison
    assert comparison is not None
    kind, name = _choose_kind(runner, compiled)
    shows = differs if kind != Kind.WRONG_METADATA else partial(_differs_in, name)
    layer = find_failing_layer(runner, shows)
    seen = seen or measure_steadiness(runner, shows)
    fault = _Fault(kind, layer, seen)
    if name == Property.SIDE_EFFECT and runner.ladder[runner.find_own_rung()].agrees:
        # a graph that is reused for other state: what writes it is Dynamo's
        fault = replace(fault, layer=Layer.DYNAMO)
    elif kind != Kind.WRONG_METADATA:
        comparison = drop_metadata(comparison)
        compiled = replace(compiled, detail=describe(comparison))
    is_value = kind == Kind.WRONG_RESULT or name == Property.PYTHON_VALUE
    is_reused = runner.finding.original.replay or _has_graph_of_another(runner)
    if is_value and is_reused and not runner.finding.grads:
        fault = _compare_with_fresh_compile(runner, fault)
    is_from_cache = CACHES_OFF in fault.cited
    summary = _FROM_CACHE if is_from_cache else _write_summary(fault.kind, comparison)
    detail = compiled.detail or describe(comparison)
    return make_diagnosis(
        runner,
        fault.kind,
        fault.layer,
        f"{summary} ({detail}){describe_frequency(fault.seen)}.",
        [EAGER, AGAIN, EXACT, COMPILED, runner.find_own_rung(), *fault.cited],
        signature=Signature(
            fault.kind, fault.layer, property=name, undefined=_list_undefined_facts(runner)
        ),
        comparison=comparison,
        reproduced=fault.seen,
    )


def _differs_in(name: Property | None, rung: MeasuredRung) -> bool:
    """Whether a rung shows a wrong property of this name, whatever its values are."""
    return (
        differs(rung)
        and rung.comparison is not None
        and any(_name_property(item) == name for item in rung.comparison["metadata"])
    )


def _name_property(wrong: MetadataDifference) -> Property:
    return Property.SIDE_EFFECT if is_state(wrong) else wrong["property"]


def _has_graph_of_another(runner: LadderRunner) -> bool:
    """Whether the call is wrong with a graph that was there before the first call of its callable:
    functions that are made again and again, as closures are, share the graphs of their code.
    """
    reused, own = runner.ladder[COMPILED], runner.ladder[runner.find_own_rung()]
    return differs(reused) and reused.run.compilations == 0 and own.agrees


def _compare_with_fresh_compile(runner: LadderRunner, fault: _Fault) -> _Fault:
    """The fault of a graph that was made by an earlier call: it is stale where the call compiled
    afresh is right.
    """
    fault = replace(fault, cited=(FRESH,))
    if not runner.measure(FRESH).agrees:
        return fault
    stale = replace(fault, kind=Kind.STALE_GRAPH)
    is_steady = fault.seen[0] == fault.seen[1] and runner.ladder[COMPILED].run.compilations > 0
    if is_steady and runner.measure(CACHES_OFF).agrees:
        layer = fault.layer if fault.layer in INDUCTOR_LAYERS else Layer.INDUCTOR
        stale = replace(stale, layer=layer, cited=(*fault.cited, CACHES_OFF))
    elif runner.ladder[runner.find_own_rung()].agrees:
        # compiled now, with the earlier sizes, it is right: what has changed is state that
        # Dynamo did not guard on
        seen = measure_steadiness(runner, differs, afresh=False)
        stale = replace(stale, layer=Layer.DYNAMO, seen=seen)
    runner.measure(NOT_DYNAMIC)
    return stale


def judge_stale_gradient(runner: LadderRunner) -> Diagnosis | None:
    """The verdict on gradients of a graph that was made earlier, where a fresh compile is right or
    refuses the call: what has changed since then is state that Dynamo did not guard on. None where
    it is not so.
    """
    finding, reused = runner.finding, runner.ladder[COMPILED]
    if (
        not finding.grads
        or not finding.original.replay
        or reused.comparison is None
        or reused.agrees
    ):
        return None
    excused = excuse(runner, reused, OF_RANDOM_NUMBERS) or excuse(runner, reused, OF_VALUES)
    if excused is not None:
        return excused
    own = runner.ladder[runner.find_own_rung()]
    # where a fresh compile refuses the call, the script's own gradients were not compared
    is_compared = finding.comparison is not None
    seen = measure_steadiness(runner, differs, afresh=False) if is_compared else (1, 1)
    detail = reused.detail or describe(reused.comparison)
    afresh = "compiled afresh it is right"
    if not own.agrees:
        raised = own.failure["exception"] if own.failure else "an exception"
        afresh = f"where a fresh compile raises {raised}"
    summary = f"A compiled graph that is reused returns wrong gradients, {afresh} ({detail})."
    return make_diagnosis(
        runner,
        Kind.STALE_GRAPH,
        Layer.DYNAMO,
        summary,
        (EAGER, AGAIN, EXACT, COMPILED, runner.find_own_rung()),
        signature=Signature(Kind.STALE_GRAPH, Layer.DYNAMO),
        comparison=reused.comparison,
        reproduced=seen,
    )


def _list_undefined_facts(runner: LadderRunner) -> tuple[str, ...]:
    """What the program has in it that is undefined, or random, though it does not explain the
    difference.
    """
    met = {"casts": "undefined_casts", "draws": "random", "writes": "lost_writes"}
    return tuple(name for name, fact in met.items() if runner.ladder.facts.get(fact))


def _write_summary(kind: Kind, comparison: Comparison) -> str:
    """The sentence without its full stop, since the measurement follows."""
    if comparison["metadata"] and is_state(find_gravest_difference(comparison)):
        return EFFECT_SUMMARY.rstrip(".")
    if kind == Kind.WRONG_GRADIENT and is_of_tangents(comparison):
        return TANGENT_SUMMARY.rstrip(".")
    return _OTHER_METADATA if kind == Kind.WRONG_METADATA else SUMMARIES[kind].rstrip(".")


def _choose_kind(runner: LadderRunner, compiled: MeasuredRung) -> tuple[Kind, Property | None]:
    """The kind of a difference, and for metadata the property.

    Side effects, numbers and texts of Python, strides and shared memory stand behind values of
    tensors that nothing excuses.
    """
    comparison = compiled.comparison
    assert comparison is not None
    wrong = list_significant_differences(comparison)
    metadata = comparison["metadata"]
    behind = (Property.PYTHON_VALUE, Property.STRIDE, Property.ALIAS)
    if metadata and wrong and all(is_state(m) or m["property"] in behind for m in metadata):
        beside = drop_metadata(comparison)
        values = replace(compiled, comparison=beside, detail=describe(beside))
        if excuse(runner, values, (*OF_EAGER, *OF_VALUES)) is None:
            metadata = []
    if metadata:
        return Kind.WRONG_METADATA, _name_property(find_gravest_difference(comparison))
    if wrong and all(item["property"] in DERIVATIVE_ROLES for item in wrong):
        return Kind.WRONG_GRADIENT, None
    return Kind.WRONG_RESULT, None

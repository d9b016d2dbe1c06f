"""Both sides return, and something differs: whose fault is it?

A difference is a bug only when nothing excuses it; an excuse counts only with its measurement (see
`excuses`). What is left is wrong, and a reused graph that is right when compiled afresh is stale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from collectors.protocol import Comparison, Property, TensorRole
from reporter.core.kinds import INDUCTOR_LAYERS, Backend, Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.diagnose.comparisons import describe, drop_metadata, find_gravest_difference
from reporter.diagnose.excuses import (
    OF_EAGER,
    OF_RANDOM_NUMBERS,
    OF_VALUES,
    differs,
    excuse,
    judge_harmless_difference,
    list_significant_differences,
)
from reporter.diagnose.ladder import Climber, MeasuredRung
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
from reporter.diagnose.verdict import Diagnosis
from reporter.recording.side_effects import drop_state, is_state
from templates.wording import EFFECT_SUMMARY, SUMMARIES

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


def judge_difference(climber: Climber) -> Diagnosis:
    """The verdict on a call that returns something else than eager does."""
    finding, ladder = climber.finding, climber.ladder
    script = MeasuredRung(SCRIPT, RungOutcome.DIFFERS, comparison=finding.comparison)
    unsteady = excuse(climber, script, OF_EAGER) if finding.comparison else None
    if unsteady:
        return unsteady
    climb(climber)
    # the gradients of a fresh compile are what was compared
    compiled = ladder[climber.find_own_rung() if finding.grads else COMPILED]
    if compiled.comparison is not None:
        other_numbers = excuse(climber, compiled, OF_RANDOM_NUMBERS)
        if other_numbers:
            return other_numbers
        forced = ladder[FALLBACK_RANDOM]
        if forced.agrees:
            compiled = ladder[Backend.AOT_EAGER]
        elif forced.comparison:
            compiled = forced
    if compiled.agrees and finding.grads and finding.replay:
        climber.measure(COMPILED)
        stale = judge_stale_gradient(climber)
        if stale is not None:
            return stale
    if compiled.comparison is None or compiled.agrees:
        own = None if ladder.facts.get("random") else climber.judge_own_call()
        if own is None or own.agrees:
            return judge_harmless_difference(climber, compiled)
        seen = measure_steadiness(climber, differs)
        if is_never_repeated(climber, seen):
            summary = (
                f"The script's compiled call differed from eager ({own.detail}), but none of"
                f" {seen[1] - 1} repetitions did."
            )
            return make_diagnosis(
                climber, Kind.NOT_REPRODUCED, Layer.NONE, summary, (COMPILED,), reproduced=seen
            )
        return excuse(climber, own, OF_VALUES) or _diagnose(climber, own, seen)
    return excuse(climber, compiled, OF_VALUES) or _diagnose(climber, compiled)


def _diagnose(
    climber: Climber, compiled: MeasuredRung, seen: tuple[int, int] | None = None
) -> Diagnosis:
    """The verdict on a difference that nothing excuses."""
    comparison = compiled.comparison
    assert comparison is not None
    layer = find_failing_layer(climber, differs)
    seen = seen or measure_steadiness(climber, differs)
    kind, name = _choose_kind(climber, compiled)
    fault = _Fault(kind, layer, seen)
    if name == Property.SIDE_EFFECT and climber.ladder[climber.find_own_rung()].agrees:
        # a graph that is reused for other state: what writes it is Dynamo's
        fault = replace(fault, layer=Layer.DYNAMO)
    elif kind != Kind.WRONG_METADATA:
        comparison = drop_metadata(drop_state(comparison))
        compiled = replace(compiled, detail=describe(comparison))
    is_value = kind == Kind.WRONG_RESULT or name == Property.PYTHON_VALUE
    if is_value and climber.finding.replay and not climber.finding.grads:
        fault = _compare_with_fresh_compile(climber, fault)
    is_from_cache = CACHES_OFF in fault.cited
    summary = _FROM_CACHE if is_from_cache else _write_summary(fault.kind, comparison)
    detail = compiled.detail or describe(comparison)
    return make_diagnosis(
        climber,
        fault.kind,
        fault.layer,
        f"{summary} ({detail}){describe_frequency(fault.seen)}.",
        [EAGER, AGAIN, EXACT, COMPILED, climber.find_own_rung(), *fault.cited],
        signature=Signature(
            fault.kind, fault.layer, property=name, undefined=_list_undefined_facts(climber)
        ),
        comparison=comparison,
        reproduced=fault.seen,
    )


def _compare_with_fresh_compile(climber: Climber, fault: _Fault) -> _Fault:
    """The fault of a graph that was made by an earlier call: it is stale where the call compiled
    afresh is right.
    """
    fault = replace(fault, cited=(FRESH,))
    if not climber.measure(FRESH).agrees:
        return fault
    stale = replace(fault, kind=Kind.STALE_GRAPH)
    is_steady = fault.seen[0] == fault.seen[1] and climber.ladder[COMPILED].compilations > 0
    if is_steady and climber.measure(CACHES_OFF).agrees:
        layer = fault.layer if fault.layer in INDUCTOR_LAYERS else Layer.INDUCTOR
        stale = replace(stale, layer=layer, cited=(*fault.cited, CACHES_OFF))
    elif climber.ladder[climber.find_own_rung()].agrees:
        # compiled now, with the earlier sizes, it is right: what has changed is state that
        # Dynamo did not guard on
        seen = measure_steadiness(climber, differs, afresh=False)
        stale = replace(stale, layer=Layer.DYNAMO, seen=seen)
    climber.measure(NOT_DYNAMIC)
    return stale


def judge_stale_gradient(climber: Climber) -> Diagnosis | None:
    """The verdict on gradients of a graph that was made earlier, where a fresh compile is right or
    refuses the call: what has changed since then is state that Dynamo did not guard on. None where
    it is not so.
    """
    finding, reused = climber.finding, climber.ladder[COMPILED]
    if not finding.grads or not finding.replay or reused.comparison is None or reused.agrees:
        return None
    excused = excuse(climber, reused, OF_RANDOM_NUMBERS) or excuse(climber, reused, OF_VALUES)
    if excused is not None:
        return excused
    own = climber.ladder[climber.find_own_rung()]
    # where a fresh compile refuses the call, the script's own gradients were not compared
    is_compared = finding.comparison is not None
    seen = measure_steadiness(climber, differs, afresh=False) if is_compared else (1, 1)
    detail = reused.detail or describe(reused.comparison)
    afresh = "compiled afresh it is right"
    if not own.agrees:
        raised = own.failure["exception"] if own.failure else "an exception"
        afresh = f"where a fresh compile raises {raised}"
    summary = f"A compiled graph that is reused returns wrong gradients, {afresh} ({detail})."
    return make_diagnosis(
        climber,
        Kind.STALE_GRAPH,
        Layer.DYNAMO,
        summary,
        (EAGER, AGAIN, EXACT, COMPILED, climber.find_own_rung()),
        signature=Signature(Kind.STALE_GRAPH, Layer.DYNAMO),
        comparison=reused.comparison,
        reproduced=seen,
    )


def _list_undefined_facts(climber: Climber) -> tuple[str, ...]:
    """What the program has in it that is undefined, or random, though it does not explain the
    difference.
    """
    met = {"casts": "undefined_casts", "draws": "random", "writes": "lost_writes"}
    return tuple(name for name, fact in met.items() if climber.ladder.facts.get(fact))


def _write_summary(kind: Kind, comparison: Comparison) -> str:
    """The sentence without its full stop, since the measurement follows."""
    if comparison["metadata"] and is_state(find_gravest_difference(comparison)):
        return EFFECT_SUMMARY.rstrip(".")
    return _OTHER_METADATA if kind == Kind.WRONG_METADATA else SUMMARIES[kind].rstrip(".")


def _choose_kind(climber: Climber, compiled: MeasuredRung) -> tuple[Kind, Property | None]:
    """The kind of a difference, and for metadata the property.

    Side effects, strides and shared memory stand behind values that nothing excuses.
    """
    comparison = compiled.comparison
    assert comparison is not None
    wrong = list_significant_differences(comparison)
    metadata = comparison["metadata"]
    behind = (Property.STRIDE, Property.ALIAS)
    if metadata and wrong and all(is_state(m) or m["property"] in behind for m in metadata):
        beside = drop_metadata(drop_state(comparison))
        values = replace(compiled, comparison=beside, detail=describe(beside))
        if excuse(climber, values, OF_VALUES) is None:
            metadata = []
    if metadata:
        worst = find_gravest_difference(comparison)
        return Kind.WRONG_METADATA, Property.SIDE_EFFECT if is_state(worst) else worst["property"]
    if wrong and all(item["property"] == TensorRole.GRADIENT for item in wrong):
        return Kind.WRONG_GRADIENT, None
    return Kind.WRONG_RESULT, None

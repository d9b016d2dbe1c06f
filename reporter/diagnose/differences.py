"""Both sides return, and something differs: whose fault is it?

A difference is a bug only when nothing excuses it; an excuse counts only with its measurement. In
order: eager differs from itself, another random stream, the receiving side's rule, undefined casts,
skipped roundings, an ill-conditioned program. What is left is wrong, and a reused graph that is
right when compiled afresh is stale.
"""

from __future__ import annotations

from collectors.protocol import Comparison, ValueDifference
from reporter.core.kinds import Backend, Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.diagnose.ladder import (
    AGAIN,
    EAGER,
    EXACT,
    FILLED,
    NUMPY,
    OTHERWISE,
    PERTURBED,
    RECAST,
    REORDERED,
    Climber,
    MeasuredRung,
    describe,
    reference,
)
from reporter.diagnose.measuring import (
    climb,
    first_bad,
    make_diagnosis,
    nowhere_else,
    often,
    steadiness,
)
from reporter.diagnose.verdict import Diagnosis

#: Eager must move by so much of the compiled error, by itself or with its inputs' last bits, to
#: excuse it.
_AS_FAR = 0.5
#: Eager may be off float64 by so much of the values' size before a verdict says so.
_FAR_OFF = 0.1
_SUMMARIES = {
    Kind.WRONG_METADATA: "The compiled result has other metadata than eager's",
    Kind.WRONG_GRADIENT: "The compiled backward pass returns wrong gradients",
    Kind.WRONG_RESULT: "The compiled call returns wrong values without an error",
    Kind.STALE_GRAPH: (
        "A compiled graph that is reused for other inputs returns wrong values; compiled afresh it"
        " is right"
    ),
}


def difference(climber: Climber) -> Diagnosis:
    """The verdict on a call that returns something else than eager does."""
    unsteady = _eager_twice(climber)
    if unsteady:
        return unsteady
    ladder, facts = climber.ladder, climber.ladder.facts
    climb(climber)
    # the gradients of a fresh compile are what was compared
    compiled = ladder[climber.own_name() if climber.finding.grads else "compiled"]
    if facts.get("streams"):
        excuse = _numpy(climber, compiled)
        if excuse:
            return excuse
    if facts.get("random"):
        excuse = _random(climber, compiled)
        if excuse:
            return excuse
        forced = ladder["fallback_random"]
        if forced.good:
            compiled = ladder[Backend.AOT_EAGER]
        elif forced.comparison:
            compiled = forced
    if compiled.comparison is None or compiled.good:
        own = None if facts.get("random") else climber.own_call()
        if own is None or own.good:
            return _harmless(climber, compiled)
        seen = steadiness(climber, _differs)
        if nowhere_else(climber, seen):
            summary = (
                f"The script's compiled call differed from eager ({own.detail}), but none of"
                f" {seen[1] - 1} repetitions did."
            )
            return make_diagnosis(
                climber, Kind.NOT_REPRODUCED, Layer.NONE, summary, ("compiled",), reproduced=seen
            )
        return _excused(climber, own) or _wrong(climber, own, seen)
    return _excused(climber, compiled) or _wrong(climber, compiled)


def _differs(rung: MeasuredRung) -> bool:
    return rung.outcome == RungOutcome.DIFFERS


def _eager_twice(climber: Climber) -> Diagnosis | None:
    again, facts = climber.ladder[AGAIN], climber.ladder.facts
    names = ", ".join(facts.get("uninitialized") or ())
    filled = climber.measure(FILLED) if names else again
    if names and _differs(filled) and _moves(filled, climber.finding.comparison):
        summary = (
            f"The result depends on memory that {names} hands out and nothing writes to: filling"
            f" that memory changes eager's own result ({climber.ladder[FILLED].detail})."
        )
        return make_diagnosis(
            climber, Kind.UNINITIALIZED_MEMORY, Layer.EAGER, summary, (EAGER, FILLED)
        )
    if not _differs(again) or not _moves(again, climber.finding.comparison):
        return None
    summary = f"Eager differs from eager: {again.detail}."
    return make_diagnosis(climber, Kind.NONDETERMINISTIC, Layer.EAGER, summary, (EAGER, AGAIN))


def _moves(rung: MeasuredRung, comparison: Comparison | None) -> bool:
    """Whether a variation of eager moves every part of the result that is to be excused."""
    if rung.comparison is None or comparison is None:
        return True
    moved = {_place(item) for item in rung.comparison["values"]}
    return {_place(item) for item in _minded(comparison) or comparison["values"]} <= moved


def _minded(comparison: Comparison) -> list[ValueDifference]:
    return [item for item in comparison["values"] if not item["same"]]


def _place(item: ValueDifference) -> str:
    """Inputs and gradients are numbered among those that differ; their labels stay."""
    return str(item.get("label") or item["where"])


def _numpy(climber: Climber, compiled: MeasuredRung) -> Diagnosis | None:
    """NumPy's random numbers are torch's in compiled code unless it is told otherwise."""
    if "numpy" not in climber.ladder.facts["streams"] or not _differs(compiled):
        return None
    if not climber.measure(NUMPY).good:
        return None
    return make_diagnosis(
        climber,
        Kind.RNG,
        Layer.NONE,
        "The difference is NumPy's random stream, which compiled code replaces by torch's: with"
        " torch._dynamo.config.use_numpy_random_stream = True and the same state of it the result"
        f" agrees with eager (without: {compiled.detail}).",
        (EAGER, "compiled", NUMPY),
        comparison=compiled.comparison,
    )


def _random(climber: Climber, compiled: MeasuredRung) -> Diagnosis | None:
    """Random operators: compare again with eager's own random stream before blaming anyone."""
    differs = compiled.comparison and not compiled.comparison["same"]
    if climber.own_name() != Backend.INDUCTOR or not differs:
        return None
    forced = climber.measure("fallback_random")
    if not forced.good or _differs(climber.ladder[Backend.AOT_EAGER]):
        return None  # aot_eager draws as eager does: no excuse
    return make_diagnosis(
        climber,
        Kind.RNG,
        Layer.NONE,
        "The difference is the random stream: with torch._inductor.config.fallback_random = True"
        f" and the same seed the compiled result agrees with eager (without: {compiled.detail}).",
        (EAGER, Backend.INDUCTOR.value, "fallback_random"),
        comparison=compiled.comparison,
    )


def _emulated(climber: Climber) -> bool:
    """Whether the results agree once fused code rounds to half precision where eager does."""
    if not climber.ladder.facts.get("coarse") or climber.own_name() != Backend.INDUCTOR:
        return False
    emulated = climber.measure("emulate_precision_casts")
    return emulated.comparison is not None and bool(emulated.comparison["tight"])


def _precision_cast(climber: Climber, text: str, comparison: Comparison | None) -> Diagnosis:
    return make_diagnosis(
        climber,
        Kind.PRECISION_CAST,
        Layer.NONE,
        "Fused code keeps float32 where eager rounds to half precision in between; with"
        " torch._inductor.config.emulate_precision_casts = True the results agree (without:"
        f" {text}).",
        (EAGER, EXACT, Backend.INDUCTOR.value, "emulate_precision_casts"),
        comparison=comparison,
    )


def _harmless(climber: Climber, compiled: MeasuredRung) -> Diagnosis:
    """The difference is within what the receiving side calls equal."""
    comparison = compiled.comparison or climber.finding.comparison
    text = describe(comparison)
    if _emulated(climber):
        return _precision_cast(climber, text, comparison)
    if any(item.get("tied") for item in (comparison["values"] if comparison else ())):
        summary = (
            f"The results differ only in which of several tied values an index names ({text})."
        )
    elif climber.ladder[EXACT].good and (far := _eager_far_off(comparison)):
        summary = (
            f"The compiled result is as close to float64 as eager ({text}), but eager itself is off"
            f" by {far:.0%} of the values' size: it loses them to rounding, or one of its operators"
            " is wrong."
        )
    elif climber.ladder[EXACT].good:
        summary = (
            "The results differ by rounding only: the compiled one is as close to float64 as eager"
            f" ({text})."
        )
    else:
        summary = (
            "The results differ by rounding only, within the tolerance that torch's own comparison"
            f" allows ({text}); {reference(climber.ladder)}."
        )
    cited = (EAGER, EXACT, "compiled")
    return make_diagnosis(climber, Kind.ROUNDING, Layer.NONE, summary, cited, comparison=comparison)


def _eager_far_off(comparison: Comparison | None) -> float | None:
    """How far eager is from float64, relative to the root mean square, if that is far."""
    shares = [
        item["eager_error_vs_fp64"] / item["scale"]
        for item in (comparison["values"] if comparison else ())
        if item.get("scale") and item.get("eager_error_vs_fp64") and not item.get("tight")
    ]
    return max((share for share in shares if share > _FAR_OFF), default=None)


def _excused(climber: Climber, compiled: MeasuredRung) -> Diagnosis | None:
    """Differences beyond rounding that still are nobody's fault."""
    comparison = compiled.comparison
    assert comparison is not None
    facts = climber.ladder.facts
    if comparison["metadata"]:
        return None
    if facts.get("lost_writes") and _shift(climber.measure(REORDERED), comparison):
        write = facts["lost_writes"][0]
        summary = (
            f"{write['elements']} of {write['of']} values that {write['by']} writes are lost to"
            " others that it writes to the same places; which of them stays is undefined"
            f" ({compiled.detail})."
        )
        cited = (EAGER, Backend.AOT_EAGER.value, "compiled", REORDERED)
        return make_diagnosis(
            climber, Kind.UNDEFINED_VALUE, Layer.NONE, summary, cited, comparison=comparison
        )
    if facts.get("undefined_casts") and _recast(climber, comparison):
        cast = facts["undefined_casts"][0]
        summary = (
            f"{cast['elements']} of {cast['of']} values are outside the range of {cast['to']} when"
            f" cast from {cast['from']}, which C++ leaves undefined ({compiled.detail})."
        )
        cited = (EAGER, Backend.AOT_EAGER.value, "compiled", RECAST)
        return make_diagnosis(
            climber, Kind.UNDEFINED_VALUE, Layer.NONE, summary, cited, comparison=comparison
        )
    if _emulated(climber):
        return _precision_cast(climber, compiled.detail, comparison)
    return _restless(climber, comparison) or _ill_conditioned(climber, comparison)


def _restless(climber: Climber, comparison: Comparison) -> Diagnosis | None:
    """Eager's own result moves from run to run, within the tolerance but as far as the compiled one
    is off.
    """
    shift = _shift(climber.ladder[AGAIN], comparison)
    if shift is None:
        return None
    summary = (
        f"Eager moves by {shift:.3g} from run to run, as far as the compiled result is off "
        f"({describe(comparison)})."
    )
    cited = (EAGER, AGAIN, "compiled")
    return make_diagnosis(
        climber, Kind.NONDETERMINISTIC, Layer.EAGER, summary, cited, comparison=comparison
    )


def _recast(climber: Climber, comparison: Comparison) -> bool:
    """Whether what differs depends on casts that C++ leaves undefined."""
    if not climber.ladder[Backend.AOT_EAGER].good:
        return False
    changed = climber.measure(RECAST)
    return (
        changed.outcome == RungOutcome.RAISES
        or changed.comparison is not None
        and _moves(changed, comparison)
    )


def _shift(moved: MeasuredRung, comparison: Comparison) -> float | None:
    """How far a rung of eager is from eager; None if not nearly as far everywhere as the compiled
    result is off.

    Both the largest error and the mean square count: one element at a threshold excuses no whole
    tensor.
    """
    found = {_place(v): v for v in (moved.comparison["values"] if moved.comparison else ())}
    shifts = []
    for item in _minded(comparison):
        other = found.get(_place(item))
        if other is None or item.get("nan_moved") or not _as_far(other, item):
            return None
        shifts.append(other["max_abs_error"])
    return max(shifts, default=None)


def _as_far(moved: ValueDifference, off: ValueDifference) -> bool:
    largest, square = moved.get("max_abs_error") or 0.0, moved.get("rms_error") or 0.0
    return (
        largest > 0
        and largest >= _AS_FAR * (off.get("max_abs_error") or 0.0)
        and square >= _AS_FAR * (off.get("rms_error") or 0.0)
    )


def _ill_conditioned(climber: Climber, comparison: Comparison) -> Diagnosis | None:
    if _differs(climber.ladder[Backend.AOT_EAGER]):
        return None
    shift = _shift(climber.measure(PERTURBED), comparison)
    name = PERTURBED if shift is not None else OTHERWISE
    shift = shift or _shift(climber.measure(name), comparison)
    if shift is None:
        return None
    again = climber.ladder[AGAIN].comparison
    if (
        again and not again["equal"]
    ):  # it moves on identical inputs too, so the last bit proves nothing
        summary = (
            f"Eager does not return the same twice ({describe(again)}); a later run is off by"
            f" {shift:.3g}, as far as the compiled result ({describe(comparison)})."
        )
        cited = (EAGER, AGAIN, "compiled", name)
        return make_diagnosis(
            climber, Kind.NONDETERMINISTIC, Layer.EAGER, summary, cited, comparison=comparison
        )
    return make_diagnosis(
        climber,
        Kind.ILL_CONDITIONED,
        Layer.NONE,
        f"A change of the inputs by one unit in the last place moves eager's result by {shift:.3g},"
        f" as far as the compiled result is off ({describe(comparison)}).",
        (EAGER, "compiled", name),
        comparison=comparison,
    )


def _wrong(
    climber: Climber, compiled: MeasuredRung, seen: tuple[int, int] | None = None
) -> Diagnosis:
    comparison = compiled.comparison
    assert comparison is not None
    layer = first_bad(climber, _differs)
    seen = seen or steadiness(climber, _differs)
    kind, name = _kind(comparison)
    cited = [EAGER, AGAIN, EXACT, "compiled", climber.own_name()]
    if kind == Kind.WRONG_RESULT and climber.finding.replay and not climber.finding.grads:
        cited.append("fresh compile")
        if climber.measure("fresh compile").good:
            kind = Kind.STALE_GRAPH
            climber.measure("dynamic=False")
    return make_diagnosis(
        climber,
        kind,
        layer,
        f"{_SUMMARIES[kind]} ({compiled.detail or describe(comparison)}){often(seen)}.",
        cited,
        signature=Signature(kind, layer, property=name, undefined=_undefined(climber)),
        comparison=comparison,
        reproduced=seen,
    )


def _undefined(climber: Climber) -> tuple[str, ...]:
    """What the program has in it that is undefined, though it does not explain the difference."""
    met = {"casts": "undefined_casts", "writes": "lost_writes"}
    return tuple(name for name, fact in met.items() if climber.ladder.facts.get(fact))


def _kind(comparison: Comparison) -> tuple[Kind, str | None]:
    """The kind of a difference, and for metadata the property."""
    minded = [item for item in comparison["values"] if not item["same"]]
    if comparison["metadata"]:
        return Kind.WRONG_METADATA, str(comparison["metadata"][0]["property"])
    if minded and all(item["property"] == "gradient" for item in minded):
        return Kind.WRONG_GRADIENT, None
    return Kind.WRONG_RESULT, None

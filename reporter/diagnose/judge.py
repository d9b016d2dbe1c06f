"""Order of proof: eager alone → eager twice → float64 → backends → whatever explains the difference away.

Each function below is one step: it measures what it needs and either returns a `Diagnosis` or passes on. A
difference is a bug only when nothing excuses it; an excuse counts only with its measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reporter.diagnose.ladder import (
    EMULATE_CASTS,
    FALLBACK_RANDOM,
    Climber,
    Rung,
    describe,
    worst_value,
)
from reporter.diagnose.verdict import Diagnosis
from reporter.errors import CannotJudgeError
from reporter.lab import Json
from reporter.recording import Finding, Recording
from reporter.signature import Signature, of_crash

_LAYERS = {
    "eager": "dynamo",
    "aot_eager": "aot_autograd",
    "aot_eager_decomp_partition": "decomposition",
    "inductor": "inductor",
    "custom": "backend",
}
#: Exceptions that say the machine lacks a compiler, not that the compiler has a bug.
_TOOLCHAIN = frozenset(("InvalidCxxCompiler",))
#: Perturbing the input by one unit in the last place must move eager this much of the compiled error to excuse it.
_ILL_CONDITIONED = 0.5


def judge(recording: Recording, timeout: float, progress: Callable[[str], None]) -> Diagnosis:
    """The verdict on a recording: its first finding that is a bug, else what explains its first finding."""
    explained: Diagnosis | None = None
    for finding in recording.findings:
        if (
            finding.symptom == "suspicious"
            and not script_failed(recording)
            and explained is None
            and tight(finding)
        ):
            continue
        diagnosis = _judge_finding(finding, timeout, progress)
        if diagnosis.is_bug:
            return diagnosis
        explained = explained or diagnosis
    return explained or without_finding(recording)


def tight(finding: Finding) -> bool:
    """Whether a finding stays within what torch.testing.assert_close allows by default."""
    return bool(finding.comparison and finding.comparison["tight"])


def script_failed(recording: Recording) -> bool:
    """Whether the script itself ended badly, by its own check or otherwise."""
    return recording.exit not in (0, None)


def without_finding(recording: Recording) -> Diagnosis:
    """The verdict when every compiled call did what eager does."""
    raised = recording.script_exception
    if raised and recording.calls == 0:
        line = f"{raised['class']} before anything was compiled"
        return Diagnosis(
            "invalid_program", "eager", f"The program fails without the compiler: {line}."
        )
    if recording.calls == 0:
        return Diagnosis(
            "not_reproduced",
            "none",
            "Nothing was compiled: the script made no call of a compiled function.",
        )
    calls = f"{recording.calls} compiled call{'s' if recording.calls != 1 else ''}"
    if script_failed(recording):
        return Diagnosis(
            "not_reproduced",
            "none",
            f"The script fails, but in each of its {calls} the compiled result equals eager's on the same inputs, "
            "so the failing check would fail without the compiler as well.",
        )
    return Diagnosis("not_reproduced", "none", f"All {calls} agree with eager.")


def _judge_finding(finding: Finding, timeout: float, progress: Callable[[str], None]) -> Diagnosis:
    climber = Climber(finding, timeout, progress)
    climber.basics()
    eager = climber.ladder["eager"]
    if eager.outcome in ("died", "timeout"):
        return _made(
            climber,
            "invalid_program",
            "eager",
            f"Eager alone does not survive the call: {eager.detail}.",
        )
    if (
        finding.symptom == "accepts"
        or eager.outcome == "raises"
        and finding.symptom in ("died", "hang", "raised")
    ):
        return _rejected_by_eager(climber)
    if finding.symptom in ("raised", "died", "hang"):
        return _crash(climber)
    return _difference(climber)


def _made(climber: Climber, kind: str, layer: str, summary: str, **details: object) -> Diagnosis:
    return Diagnosis(kind, layer, summary, ladder=climber.ladder, finding=climber.finding, **details)  # type: ignore[arg-type]


def _first_bad(climber: Climber, bad: Callable[[Rung], bool]) -> str:
    """The layer of the lowest rung that shows the symptom; the top one if only the user's exact call does."""
    own = climber.own_name()
    for name in ("eager", "aot_eager", "aot_eager_decomp_partition", own):
        rung_name = "dynamo" if name == "eager" else name
        if bad(climber.ladder[rung_name]):
            return _LAYERS.get(name, "backend")
    return _LAYERS.get(own, "backend")


def _climb(climber: Climber) -> None:
    """The user's compiled call as it stood, then each backend afresh, all side by side."""
    own = climber.own_name()
    rungs: dict[str, dict[str, Any]] = {
        "compiled": {"how": "reused"},
        "dynamo": {"how": "compiled", "backend": "eager"},
    }
    if own == "inductor":
        for backend in ("aot_eager", "aot_eager_decomp_partition"):
            rungs[backend] = {"how": "compiled", "backend": backend}
    rungs[own] = {"how": "compiled"}
    climber.ahead(rungs)
    for name, rung in rungs.items():
        climber.compiled(name, **rung)


def _rejected_by_eager(climber: Climber) -> Diagnosis:
    """Eager raises: a bug only if the compiled call returns, or takes the process down instead."""
    finding = climber.finding
    _climb(climber)
    compiled = climber.ladder["compiled"]
    eager = climber.ladder["eager"]
    if finding.symptom == "died" or compiled.outcome == "died":
        layer = _first_bad(climber, lambda rung: rung.outcome == "died")
        name = finding.signal or compiled.signal
        return _made(
            climber,
            "process_death",
            layer,
            (
                f"The compiled call ends the process with {name}; eager raises {eager.failure['exception']}."
                if eager.failure
                else f"The compiled call ends the process with {name}."
            ),
            signature=Signature("process_death", layer, signal=name),
        )
    if compiled.outcome != "ok":
        return _made(climber, "invalid_program", "eager", f"Eager fails as well: {eager.detail}.")
    again = climber.ladder["eager_again"]
    if again.outcome != "raises":
        return _made(
            climber, "nondeterministic", "eager", "Eager raises in one run and returns in another."
        )
    layer = _first_bad(climber, lambda rung: rung.outcome == "ok")
    assert eager.failure is not None
    return _made(
        climber,
        "accepts_invalid",
        layer,
        f"Eager refuses the call with {eager.failure['exception']}; the compiled call returns a result.",
        signature=Signature("accepts_invalid", layer, exception=eager.failure["exception"]),
        failure=eager.failure,
    )


def _crash(climber: Climber) -> Diagnosis:
    """Eager runs, the compiled call raises, dies or never ends."""
    finding = climber.finding
    _climb(climber)
    seen = climber.ladder["compiled"]
    if seen.outcome == "ok" and finding.grads:
        seen = climber.ladder[climber.own_name()]
    bad = {"raised": "raises", "died": "died", "hang": "timeout"}[finding.symptom]
    layer = _first_bad(climber, lambda rung: rung.outcome == bad)
    if finding.symptom == "hang" and seen.outcome != "timeout":
        return _made(
            climber,
            "not_reproduced",
            "none",
            f"The script's compiled call was slower than the limit, but ends when repeated ({seen.seconds:.0f} s); "
            "give it more time with --timeout.",
        )
    if finding.symptom == "hang":
        return _made(
            climber,
            "hang",
            layer,
            "The compiled call does not end.",
            signature=Signature("hang", layer),
        )
    if finding.symptom == "died":
        name = finding.signal or seen.signal
        return _made(
            climber,
            "process_death",
            layer,
            f"The compiled call ends the process with {name}; eager returns.",
            signature=Signature("process_death", layer, signal=name),
        )
    failure = finding.failure or seen.failure or {}
    if failure.get("exception") in _TOOLCHAIN:
        raise CannotJudgeError(
            f"torch finds no working C++ compiler ({failure['exception']}), so nothing can be compiled here; "
            "install g++ or set CXX"
        )
    kind = "crash"
    if finding.replay and climber.ladder[climber.own_name()].outcome == "raises":
        alone = climber.compiled("first call", how="compiled", replay=False)
        dynamic = climber.compiled("dynamic=True", how="compiled", replay=False, dynamic=True)
        marked = climber.compiled("mark_dynamic", how="compiled", replay=False, mark_dynamic=True)
        if all(rung.outcome == "ok" for rung in (alone, dynamic, marked)):
            kind = "crash_on_recompile"
    return _made(
        climber,
        kind,
        layer,
        f"Compiling raises {failure.get('exception')}; eager runs.",
        signature=of_crash(kind, layer, failure),
        failure=failure,
    )


def _difference(climber: Climber) -> Diagnosis:
    """Both return, and something differs."""
    ladder = climber.ladder
    again = ladder["eager_again"]
    facts = ladder.facts
    if again.outcome == "differs":
        if facts.get("uninitialized"):
            names = ", ".join(facts["uninitialized"])
            return _made(
                climber,
                "uninitialized_memory",
                "eager",
                f"Eager differs from eager: it reads memory of {names} never written.",
            )
        return _made(
            climber, "nondeterministic", "eager", f"Eager differs from eager: {again.detail}."
        )
    _climb(climber)
    compiled = ladder["compiled"]
    if climber.finding.grads:  # the gradients of a fresh compile are what was compared
        compiled = ladder[climber.own_name()]
    excuse = _random(climber, compiled) if facts.get("random") else None
    if excuse:
        return excuse
    if facts.get("random"):
        forced = ladder["fallback_random"]
        compiled = ladder["aot_eager"] if forced.good else forced if forced.comparison else compiled
    if compiled.comparison is None or compiled.good:
        return _harmless(climber, compiled)
    return _excused(climber, compiled) or _wrong(climber, compiled)


def _random(climber: Climber, compiled: Rung) -> Diagnosis | None:
    """Random operators: compare again with eager's own random stream before blaming anyone."""
    if climber.own_name() != "inductor" or not (
        compiled.comparison and not compiled.comparison["same"]
    ):
        return None
    forced = climber.compiled("fallback_random", how="compiled", config=FALLBACK_RANDOM)
    if (
        forced.good and climber.ladder["aot_eager"].outcome != "differs"
    ):  # aot_eager draws as eager does: no excuse
        return _made(
            climber,
            "rng",
            "none",
            "The difference is the random stream: with torch._inductor.config.fallback_random = True and the same "
            f"seed the compiled result agrees with eager (without: {compiled.detail}).",
            comparison=compiled.comparison,
        )
    return None


def _harmless(climber: Climber, compiled: Rung) -> Diagnosis:
    """The difference is within what the receiving side calls equal."""
    comparison = compiled.comparison or climber.finding.comparison
    text = describe(comparison)
    if climber.ladder.facts.get("coarse"):
        emulated = climber.compiled("emulate_precision_casts", how="compiled", config=EMULATE_CASTS)
        if emulated.comparison is not None and emulated.comparison["tight"]:
            return _made(
                climber,
                "precision_cast",
                "none",
                "Fused code keeps float32 where eager rounds to half precision in between; with "
                f"torch._inductor.config.emulate_precision_casts = True the results agree (without: {text}).",
                comparison=comparison,
            )
    return _made(
        climber,
        "rounding",
        "none",
        f"The results differ by rounding only: the compiled one is as close to float64 as eager ({text}).",
        comparison=comparison,
    )


def _excused(climber: Climber, compiled: Rung) -> Diagnosis | None:
    """Differences beyond rounding that still are nobody's fault."""
    comparison = compiled.comparison
    assert comparison is not None
    facts = climber.ladder.facts
    if comparison["metadata"]:
        return None
    if facts.get("undefined_casts") and climber.ladder["aot_eager"].good:
        cast = facts["undefined_casts"][0]
        return _made(
            climber,
            "undefined_value",
            "none",
            f"{cast['elements']} of {cast['of']} values are outside the range of {cast['to']} when cast from "
            f"{cast['from']}, which C++ leaves undefined ({compiled.detail}).",
            comparison=comparison,
        )
    if facts.get("coarse") and climber.own_name() == "inductor":
        emulated = climber.compiled("emulate_precision_casts", how="compiled", config=EMULATE_CASTS)
        if emulated.comparison is not None and emulated.comparison["tight"]:
            return _made(
                climber,
                "precision_cast",
                "none",
                "With torch._inductor.config.emulate_precision_casts = True the results agree "
                f"(without: {compiled.detail}).",
                comparison=comparison,
            )
    return _ill_conditioned(climber, comparison)


def _ill_conditioned(climber: Climber, comparison: Json) -> Diagnosis | None:
    worst = worst_value(comparison)
    if worst is None or worst.get("nan_moved") or climber.ladder["aot_eager"].outcome == "differs":
        return None
    moved = climber.perturbed()
    if moved.comparison is None:
        return None
    same_place = [item for item in moved.comparison["values"] if item["where"] == worst["where"]]
    shift = max((item.get("max_abs_error") or 0.0 for item in same_place), default=0.0)
    if shift < _ILL_CONDITIONED * (worst.get("max_abs_error") or 0.0):
        return None
    return _made(
        climber,
        "ill_conditioned",
        "none",
        f"A change of the inputs by one unit in the last place moves eager's result by {shift:.3g}, as far as the "
        f"compiled result is off ({describe(comparison)}).",
        comparison=comparison,
    )


def _wrong(climber: Climber, compiled: Rung) -> Diagnosis:
    comparison = compiled.comparison
    assert comparison is not None
    layer = _first_bad(climber, lambda rung: rung.outcome == "differs")
    minded = [item for item in comparison["values"] if not item["same"]]
    if comparison["metadata"]:
        kind = "wrong_metadata"
        name = comparison["metadata"][0]["property"]
    elif minded and all(item["property"] == "gradient" for item in minded):
        kind, name = "wrong_gradient", None
    else:
        kind, name = "wrong_result", None
    if kind == "wrong_result" and climber.finding.replay and not climber.finding.grads:
        alone = climber.compiled("fresh compile", how="compiled", replay=False)
        if alone.good:
            kind = "stale_graph"
    summary = {
        "wrong_metadata": "The compiled result has other metadata than eager's",
        "wrong_gradient": "The compiled backward pass returns wrong gradients",
        "wrong_result": "The compiled call returns wrong values without an error",
        "stale_graph": "A compiled graph that is reused for another shape returns wrong values; compiled afresh it is right",
    }[kind]
    return _made(
        climber,
        kind,
        layer,
        f"{summary} ({compiled.detail or describe(comparison)}).",
        signature=Signature(kind, layer, property=name),
        comparison=comparison,
    )

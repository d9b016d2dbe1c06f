"""A script whose own assertion fails in eager mode: a wrong operator, or what explains the
difference.

What is decided rests on a run in which each operator was held against float64 on the same inputs
(`collectors.call.operators.measurement`).
"""

from __future__ import annotations

import re

from collectors.protocol.starting import OperatorError
from reporter.core.candidate import GRADCHECK_ERROR
from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.diagnose.comparisons import describe_against_float64
from reporter.diagnose.diagnosis import Diagnosis, VerdictBasis
from reporter.diagnose.ladder import LadderRunner
from reporter.diagnose.measuring import make_diagnosis
from reporter.diagnose.rungs import AGAIN, EAGER, EXACT
from reporter.recording.findings import Recording

#: Seconds that a script may take to be run again for its operators.
_LONGEST = 60.0
#: Comparisons bit by bit, in the line of the script that failed.
_BITWISE = re.compile(r"\bequal\(|==|\bassert_(?:array_)?equal\b")


def may_be_eager(recording: Recording) -> bool:
    """Whether the assertion of a script that compiles nothing failed, and it is short enough to be
    run again.
    """
    return recording.counts.calls == 0 and is_own_assertion(recording)


def is_own_assertion(recording: Recording) -> bool:
    """Whether it is an assertion of the script itself that ended it, and it is short enough to be
    run again.
    """
    raised = recording.script.exception
    return (
        raised is not None
        and recording.script.child is None
        and not recording.script.stopped
        and raised["class"] in ("AssertionError", GRADCHECK_ERROR)
        and recording.script.seconds <= _LONGEST
    )


def judge_sharded(recording: Recording) -> Diagnosis | None:
    """The verdict on a script that an operator on DTensors explains; None where there is none."""
    facts = recording.further_runs.operators
    if facts is None or not facts["sharded"]:
        return None
    found = facts["sharded"][0]
    placed = f" with {' and '.join(found['placements'])}" if found["placements"] else ""
    summary = (
        f"{found['operator']} on DTensors{placed} is not what it is on the whole tensors: off by"
        f" {found['error']:.3g}, where the largest value is {found['largest']:.3g}."
    )
    signature = Signature(Kind.WRONG_RESULT, Layer.EAGER)
    basis = VerdictBasis(reproduced=(1, 1))
    return Diagnosis(Kind.WRONG_RESULT, Layer.EAGER, summary, signature=signature, basis=basis)


def may_be_rounding(recording: Recording) -> bool:
    """Whether the script has rounded results, also magnified ones, and nothing else was found that
    explains its assertion: a result that is too large for its dtype is no rounding.
    """
    facts = recording.further_runs.operators
    return (
        facts is not None
        and (facts["rounded"] > 0 or facts["ill"] != [])
        and not facts["overflowed"]
        and explain_assertion(recording) is None
    )


def judge_value(runner: LadderRunner) -> Diagnosis:
    """The verdict on a call of a torch function whose result is wrong in eager mode."""
    eager, again = runner.ladder[EAGER], runner.ladder[AGAIN]
    cited = (EAGER, AGAIN, EXACT)
    if again.outcome == RungOutcome.DIFFERS:
        summary = f"Eager differs from eager: {again.detail}."
        return make_diagnosis(runner, Kind.NONDETERMINISTIC, Layer.EAGER, summary, cited)
    compared = runner.compare_exact()
    if compared is None or compared["same"]:
        summary = "The operator gives what float64 gives, once it is called alone."
        return make_diagnosis(runner, Kind.NOT_REPRODUCED, Layer.EAGER, summary, cited)
    seen = (2, 2) if eager.agrees and again.agrees else (1, 2)
    detail = describe_against_float64(compared)
    summary = f"An operator returns wrong values in eager mode ({detail})."
    return make_diagnosis(
        runner,
        Kind.WRONG_RESULT,
        Layer.EAGER,
        summary,
        cited,
        signature=Signature(Kind.WRONG_RESULT, Layer.EAGER),
        comparison=compared,
        reproduced=seen,
    )


def explain_assertion(recording: Recording) -> Diagnosis | None:
    """What explains that the script's own assertion fails; None where nothing was found."""
    facts = recording.further_runs.operators
    if facts is None:
        return None
    if recording.further_runs.right_with_zeros:
        return _diagnose(
            Kind.UNINITIALIZED_MEMORY,
            "The program reads memory that nothing wrote to: with zeros in it the script's own"
            " assertion passes.",
        )
    if facts["undefined_casts"]:
        cast = facts["undefined_casts"][0]
        return _diagnose(
            Kind.UNDEFINED_VALUE,
            f"A value is cast from {cast['from']} to {cast['to']}, whose range it is outside of"
            f" ({cast['elements']} of {cast['of']} elements); C++ does not define what that gives.",
        )
    if facts["random"]:
        names = ", ".join(facts["random"])
        return _diagnose(
            Kind.NONDETERMINISTIC,
            f"The program draws random numbers while it computes ({names}); without a seed no two"
            " runs of it give the same.",
        )
    # without the compiler, what a script holds bit by bit against eager mode is eager mode, and
    # what it holds against a compiled result need have nothing to do with an operator on its way
    is_eager = recording.further_runs.fails_uncompiled is None
    if facts["ill"] and (is_eager or recording.further_runs.right_in_float64):
        return _diagnose(Kind.ILL_CONDITIONED, _describe_rounding(facts["ill"][0]))
    if facts["rounded"] and is_eager and _is_bitwise(recording):
        return _diagnose(
            Kind.ROUNDING,
            f"The script compares bit by bit. {facts['rounded']} results are rounded, and none of"
            " them is farther from float64 than its dtype explains.",
        )
    if recording.further_runs.right_in_float64:
        again = "The script fails in the same way without the compiler. "
        return _diagnose(
            Kind.ROUNDING,
            (again if recording.further_runs.fails_uncompiled else "")
            + f"{facts['rounded']} results are rounded, none of them farther from float64 than its"
            " dtype explains, and with everything in float64 the script's own assertion passes.",
        )
    return None


def _diagnose(kind: Kind, summary: str) -> Diagnosis:
    return Diagnosis(kind, Layer.EAGER, summary)


def _describe_rounding(found: OperatorError) -> str:
    return (
        f"{found['operator']} magnifies rounding: it is off float64 by {found['error']:.3g}, and"
        f" moving its inputs by one unit in the last place moves it by {found['sensitivity']:.3g}."
    )


def _is_bitwise(recording: Recording) -> bool:
    """Whether the line of the script that failed compares bit by bit."""
    raised = recording.script.exception
    traceback = raised["failure"].get("traceback", "") if raised is not None else ""
    lines = [line for line in traceback.splitlines() if re.match(r"    \S", line)]
    own = [line for line in lines if not line.strip().startswith("raise ")]
    return bool(own) and _BITWISE.search(own[0]) is not None

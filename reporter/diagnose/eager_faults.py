"""Faults of torch that need no compiler: an internal assertion, or an operator that ends the
process.

An ordinary exception is the program's own. `TORCH_INTERNAL_ASSERT` (`c10/util/Exception.h`) says
itself that it is to be reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from collectors.protocol.failure import Failure, name_signal
from collectors.protocol.starting import DerivativeKind
from reporter.core.candidate import GRADCHECK_ERROR
from reporter.core.kinds import Kind, Layer, RungOutcome, Symptom
from reporter.core.signature import Signature, sign_crash
from reporter.diagnose.diagnosis import Diagnosis, VerdictBasis
from reporter.diagnose.ladder import LadderRunner, MeasuredRung
from reporter.diagnose.measuring import describe_frequency, make_diagnosis
from reporter.diagnose.rungs import AGAIN, EAGER
from reporter.recording.findings import Recording

_INTERNAL = "INTERNAL ASSERT FAILED"
#: What the reducer of DistributedDataParallel says of a step with `static_graph=True`
#: (torch/csrc/distributed/c10d/reducer.cpp, 2.0 to 2.15).
_GRAPH_CHANGED = "your training graph has changed in this iteration"
#: Seconds that a script may take to be run again without that.
_LONGEST = 60.0
_PLACE = re.compile(r'INTERNAL ASSERT FAILED at "(?:[^"]*/)?((?:aten|c10|torch)/[^"]+)":(\d+)')
_DERIVATIVES: Mapping[DerivativeKind, str] = {
    "gradcheck": "The gradient of an operator",
    "forward": "The derivative of an operator in forward mode",
    "gradgradcheck": "The second derivative of an operator",
    "over_forward": "The second derivative of an operator in forward mode",
    "over_backward": "The second derivative of an operator by torch.func",
    "forward_twice": "The second derivative of an operator in nested forward mode",
    "in_inference": "The derivative of an operator by torch.func",
    "backward": "The backward pass of an operator",
    "elementwise": "The gradient of an operator",
}
#: What a traceback begins with.
_TRACEBACK = "Traceback (most recent call last):\n"
#: Signals that a program raises in itself by a fault of its code.
_DEADLY = frozenset(("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS"))


def is_internal(failure: Failure) -> bool:
    """Whether an exception is an internal assertion of torch."""
    return _INTERNAL in failure["message"]


def may_be_torch(recording: Recording) -> bool:
    """Whether a script that ended outside of its compiled calls may have met a fault of torch."""
    if recording.script.stopped or recording.script.exit is None:
        return False
    if recording.script.exit < 0:
        return name_signal(-recording.script.exit) in _DEADLY
    raised = recording.script.exception
    if raised is None:
        return False
    return is_internal(raised["failure"]) or bool(find_childs_signal(raised["failure"]))


def is_refused_by_reducer(recording: Recording) -> bool:
    """Whether DistributedDataParallel ended a short script by saying that its graph has changed."""
    raised = recording.script.exception
    return (
        raised is not None
        and not recording.script.stopped
        and recording.script.seconds <= _LONGEST
        and _GRAPH_CHANGED in find_childs_failure(raised["failure"])["message"]
    )


def find_childs_failure(failure: Failure) -> Failure:
    """The exception of a process that the script has started, where the script's own exception
    only hands it on (torch/multiprocessing/spawn.py); else the given one.
    """
    traceback = failure["message"].rpartition(_TRACEBACK)[2]
    raised = re.search(r"^([\w.]+)(?:: (.*))?\Z", traceback.strip(), re.MULTILINE | re.DOTALL)
    if failure["exception"] != "ProcessRaisedException" or raised is None:
        return failure
    message = raised[2] or ""
    return {
        "exception": raised[1].rpartition(".")[2],
        "message": message,
        "first_line": message.partition("\n")[0],
    }


def find_failing_child(failure: Failure) -> int | None:
    """Which process of torch.multiprocessing.spawn ended the script, in the order of their starts;
    None where it was the script itself.
    """
    found = re.match(r"\s*(?:-- )?[Pp]rocess (\d+) terminated with", failure["message"])
    is_child = failure["exception"] in ("ProcessRaisedException", "ProcessExitedException")
    return int(found[1]) if is_child and found else None


def find_childs_signal(failure: Failure) -> str:
    """The deadly signal that ended a process of torch.multiprocessing.spawn; nothing for none."""
    found = re.search(r"terminated with signal (SIG[A-Z]+)", failure["message"])
    is_exit = failure["exception"] == "ProcessExitedException"
    return found[1] if is_exit and found and found[1] in _DEADLY else ""


def read_assertion_place(failure: Failure) -> str:
    """The C++ file and line of an internal assertion, from the root of torch's sources."""
    found = _PLACE.search(failure["message"])
    return f"{found.group(1)}, line {found.group(2)}" if found else ""


def judge_operator(runner: LadderRunner) -> Diagnosis:
    """The verdict on one call of a torch function that ended the script."""
    runs = [runner.ladder[name] for name in (EAGER, AGAIN)]
    died = [run for run in runs if run.outcome == RungOutcome.DIED]
    if died:
        return _judge_death(runner, died, (len(died) + 1, len(runs) + 1))
    raised = [run.failure for run in runs if run.failure is not None]
    refused = [failure for failure in raised if failure["exception"] == GRADCHECK_ERROR]
    if refused:
        return _judge_derivative(runner, refused[0], (len(refused) + 1, len(runs) + 1))
    internal = [failure for failure in raised if is_internal(failure)]
    if internal:
        seen = (len(internal) + 1, len(runs) + 1)
        return make_diagnosis(
            runner,
            Kind.CRASH,
            Layer.EAGER,
            _write_sentence(internal[0]) + f"{describe_frequency(seen)}.",
            (EAGER, AGAIN),
            signature=sign_crash(Kind.CRASH, Layer.EAGER, internal[0]),
            failure=internal[0],
            reproduced=seen,
        )
    if raised:
        summary = (
            f"Eager fails as well: {raised[0]['exception']}: {raised[0]['first_line'].rstrip('.')}."
        )
        return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EAGER, summary, (EAGER, AGAIN))
    what = "died" if runner.finding.symptom == Symptom.DIED else "raised"
    summary = f"The script's call {what}, but none of {len(runs)} repetitions did."
    return make_diagnosis(runner, Kind.NOT_REPRODUCED, Layer.NONE, summary, (EAGER, AGAIN))


def _judge_death(
    runner: LadderRunner, died: Sequence[MeasuredRung], seen: tuple[int, int]
) -> Diagnosis:
    signal = runner.finding.signal or died[0].death.signal
    summary = (
        f"An operator ends the process with {signal or died[0].detail} in eager mode"
        f"{describe_frequency(seen)}."
    )
    return make_diagnosis(
        runner,
        Kind.PROCESS_DEATH,
        Layer.EAGER,
        summary,
        (EAGER, AGAIN),
        seen,
        signature=Signature(Kind.PROCESS_DEATH, Layer.EAGER, signal=signal),
    )


def _judge_derivative(runner: LadderRunner, refusal: Failure, seen: tuple[int, int]) -> Diagnosis:
    """The verdict on a derivative that finite differences refuse."""
    kind: DerivativeKind = runner.finding.original.options.get("derivative", "gradcheck")
    summary = f"{_DERIVATIVES[kind]} is not that of its values in eager mode"
    why = "in float64, finite differences refuse it"
    if kind == "forward_twice":
        why = "in float64, backward mode has another, which finite differences do not refuse"
    if kind == "in_inference":
        summary = f"{_DERIVATIVES[kind]} is wrong in inference mode"
        why = "outside of it, the same call gives another"
    if kind == "elementwise":
        why = "each value is computed of one element, and equal elements get different gradients"
    return make_diagnosis(
        runner,
        Kind.WRONG_GRADIENT,
        Layer.EAGER,
        f"{summary}: {why}{describe_frequency(seen)}.",
        (EAGER, AGAIN),
        seen,
        signature=Signature(Kind.WRONG_GRADIENT, Layer.EAGER),
        failure=refusal,
    )


def judge_script(recording: Recording) -> Diagnosis | None:
    """The verdict on an internal assertion that no call could be found for."""
    raised = recording.script.exception
    if raised is None or not is_internal(raised["failure"]):
        return None
    failure = find_childs_failure(raised["failure"])
    return Diagnosis(
        Kind.CRASH,
        Layer.EAGER,
        _write_sentence(failure) + ".",
        signature=sign_crash(Kind.CRASH, Layer.EAGER, failure),
        failure=failure,
        basis=VerdictBasis(reproduced=(1, 1)),
    )


def judge_reducer(recording: Recording) -> Diagnosis | None:
    """The verdict on a script of which the reducer of DistributedDataParallel says that its graph
    has changed, where without the reducer it ends well and no step differs from the first one.
    """
    raised, training = recording.script.exception, recording.further_runs.training
    if raised is None or training is None or not training["alike"] or training["steps"] < 2:
        return None
    failure = find_childs_failure(raised["failure"])
    summary = (
        "DistributedDataParallel refuses a step and says that the training graph has changed, which"
        " it has not: where nothing is reduced the script ends well, and in each of its"
        f" {training['steps']} steps the same parameters get gradients, through the same functions."
    )
    return Diagnosis(
        Kind.CRASH,
        Layer.EAGER,
        summary,
        signature=sign_crash(Kind.CRASH, Layer.EAGER, failure),
        failure=failure,
        basis=VerdictBasis(reproduced=(1, 1)),
    )


def judge_death_in_function(recording: Recording) -> Diagnosis:
    """The verdict on a script that a signal ends in one of torch's functions, twice, in a call that
    cannot be repeated alone: its arguments were not read yet.
    """
    signal = name_signal(-(recording.script.exit or 0))
    return Diagnosis(
        Kind.PROCESS_DEATH,
        Layer.EAGER,
        f"{recording.further_runs.died_in} ends the process with {signal} in eager mode.",
        signature=Signature(Kind.PROCESS_DEATH, Layer.EAGER, signal=signal),
        basis=VerdictBasis(reproduced=(2, 2)),
    )


def _write_sentence(failure: Failure) -> str:
    place = read_assertion_place(failure)
    where = f" at {place}" if place else ""
    return (
        f"Eager mode fails with an internal assertion of torch{where}, which torch itself asks to"
        " report"
    )

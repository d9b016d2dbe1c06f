"""Order of proof: eager alone → eager twice → float64 → backends → whatever explains the difference
away.

Each function below is one step: it measures what it needs and either returns a `Diagnosis` or
passes on. What raises, dies or hangs is judged here, what returns something else in `differences`.
A failure counts only if it comes back: what the script showed once and no repetition shows is not
reproduced. Files of torch that are named below are those of 2.13.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from collectors.protocol.failure import Failure
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import (
    EXPORTERS,
    ROUNDED,
    Compiler,
    Kind,
    Layer,
    RungOutcome,
    Symptom,
    assert_never,
)
from reporter.core.signature import Signature, sign_crash, sign_refusal
from reporter.diagnose import stacks, unsupported_features
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.differences import judge_difference, judge_stale_gradient
from reporter.diagnose.eager_faults import judge_operator, judge_script, may_be_torch
from reporter.diagnose.eager_values import judge_value
from reporter.diagnose.excuses import OF_EXCEPTIONS, excuse
from reporter.diagnose.export_refusals import excuse_refusal
from reporter.diagnose.ladder import LadderRunner, MeasuredRung
from reporter.diagnose.measuring import (
    climb,
    climb_from_the_top,
    climb_while_it_hangs,
    describe_frequency,
    find_failing_layer,
    is_never_repeated,
    make_diagnosis,
    measure_steadiness,
)
from reporter.diagnose.no_finding import (
    did_script_fail,
    ends_in_rejected_call,
    judge_leaked_tensors,
    judge_stated_limit,
    judge_without_finding,
)
from reporter.diagnose.rungs import (
    AGAIN,
    BACKWARD,
    COMPILED,
    DYNAMIC,
    EAGER,
    FRESH,
    MARKED_DYNAMIC,
    NO_FULLGRAPH,
    SCRIPT,
)
from reporter.execution.temporary_folder import find_shared_temporary_folder
from reporter.recording.findings import Finding, Recording
from templates.summaries import STATED_LIMIT

#: Exceptions that say the machine lacks a compiler, not that the compiler has a bug
#: (`torch/_inductor/exc.py`).
_TOOLCHAIN = frozenset(("InvalidCxxCompiler",))
#: What torch raises instead of compiling again, because the program has asked for that
#: (`torch/_dynamo/exc.py`; in earlier releases the limit is that of the cache).
_ON_REQUEST = {
    "RecompileError": "error_on_recompile",
    "FailOnRecompileLimitHit": (
        "at the recompile limit: fullgraph=True or fail_on_recompile_limit_hit"
    ),
    "FailOnCacheLimitHit": "at the recompile limit: fullgraph=True or fail_on_cache_limit_hit",
}
#: What autograd says of a tensor that a backward pass needs and that was changed
#: (`torch/csrc/autograd/saved_variable.cpp`).
_WRITTEN = "needed for gradient computation has been modified by an inplace operation"
#: What raises, as the beginning of a sentence.
DOING: Mapping[Compiler, str] = {
    Compiler.COMPILE: "Compiling",
    Compiler.EXPORT: "Exporting",
    Compiler.AOTI: "The package of AOTInductor",
    Compiler.ONNX: "Exporting to ONNX, or running what was exported,",
    Compiler.EAGER: "Eager mode",
}
#: How torch begins to refuse a recompilation under a stance (`torch/_dynamo/eval_frame.py`).
_STANCE = "Detected recompile when torch.compile stance is"


def judge(
    recording: Recording,
    timeout: float,
    progress: Callable[[str], None],
    rungs: tuple[str, ...] = (),
    at_once: int = 2,
) -> Diagnosis:
    """The verdict on a recording: its first finding that is a bug, else what explains its first
    finding.

    Where torch states a limit at the script's end, or stops there at what exporting has left, that
    explains it, and no rounding before it; of a call that eager mode refuses as well it explains
    nothing.

    Args:
        timeout: seconds for each rung; a call that took the script long gets up to twice as many.
        progress: hears the names of rungs while they are measured.
        rungs: names of those that are measured beside what the judgment needs.
        at_once: so many of all rungs run side by side.

    Raises:
        CannotJudgeError: the calls cannot be repeated, or the machine has no working compiler.
    """
    raised = any(finding.symptom == Symptom.RAISED for finding in recording.findings)
    may_be_limit = not raised and not ends_in_rejected_call(recording)
    limit = _judge_end(recording) if may_be_limit else None
    explained = limit
    works = not did_script_fail(recording)
    for finding in recording.findings:
        # of a script that works, rounding is worth a judgment only beside something that was judged
        is_alone = works and explained is None and finding.symptom == Symptom.SUSPICIOUS
        if is_tight(finding) and (is_alone or limit is not None):
            continue
        diagnosis = _judge_finding(LadderRunner(finding, timeout, progress, at_once), rungs)
        if diagnosis.is_bug:
            return diagnosis
        explained = explained or diagnosis
    if explained is None or explained.kind in ROUNDED and ends_in_rejected_call(recording):
        return judge_without_finding(recording)
    # an internal assertion needs no repetition to be a fault of torch
    internal = judge_script(recording) if may_be_torch(recording) else None
    return internal or explained


def _judge_end(recording: Recording) -> Diagnosis | None:
    return judge_leaked_tensors(recording) or judge_stated_limit(recording)


def is_tight(finding: Finding) -> bool:
    """Whether a finding stays within what torch.testing.assert_close allows by default
    (`torch/testing/_comparison.py: default_tolerances`).
    """
    return bool(finding.comparison and finding.comparison["tight"])


def _judge_finding(runner: LadderRunner, rungs: tuple[str, ...]) -> Diagnosis:
    runner.measure_basics()
    try:
        return _judge_symptom(runner)
    finally:
        for name in rungs:
            runner.measure(name)


def _judge_symptom(runner: LadderRunner) -> Diagnosis:
    finding, eager = runner.finding, runner.ladder[EAGER]
    if finding.original.compiler == Compiler.EAGER:
        returned = finding.symptom == Symptom.DIFFERS
        return judge_value(runner) if returned else judge_operator(runner)
    if eager.outcome == RungOutcome.DIED and eager.death.signal is None:
        raise CannotJudgeError(
            f"a repetition of the call in eager mode ended without an answer ({eager.detail}); look"
            f" whether there is room in {find_shared_temporary_folder()}, or set TMPDIR to a folder"
            " that has"
        )
    if eager.outcome in (RungOutcome.DIED, RungOutcome.TIMEOUT):
        summary = f"Eager alone does not survive the call: {eager.detail or eager.outcome}."
        return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EAGER, summary, (EAGER,))
    if _is_out_of_memory(finding) and eager.outcome == RungOutcome.ERROR:
        raise CannotJudgeError(
            "the compiled call needs more memory than its device has, and so does a repetition of"
            " it in eager mode, beside the program; give it smaller inputs"
        )
    ended_badly = finding.symptom in (Symptom.DIED, Symptom.HANG, Symptom.RAISED)
    if eager.outcome == RungOutcome.RAISES and ended_badly:
        return _judge_rejected_call(runner)
    match finding.symptom:
        case Symptom.ACCEPTS:
            return _judge_rejected_call(runner)
        case Symptom.DIED:
            return _judge_death(runner)
        case Symptom.HANG:
            return _judge_hang(runner)
        case Symptom.RAISED:
            return _judge_crash(runner)
        case Symptom.DIFFERS | Symptom.GRADIENT | Symptom.SUSPICIOUS:
            return judge_difference(runner)
    assert_never(finding.symptom)


def _is_out_of_memory(finding: Finding) -> bool:
    return finding.failure is not None and finding.failure["exception"] == "OutOfMemoryError"


def _judge_rejected_call(runner: LadderRunner) -> Diagnosis:
    """Eager raises: a bug only if the compiled call returns, or takes the process down instead."""
    finding = runner.finding
    names = climb(runner)
    compiled, eager = runner.ladder[COMPILED], runner.ladder[EAGER]
    if finding.symptom == Symptom.DIED or compiled.outcome == RungOutcome.DIED:
        return _judge_death(runner)
    if eager.failure is not None and not _returns(compiled):
        summary = f"Eager fails as well: {eager.detail.rstrip('.')}."
        return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EAGER, summary, (EAGER, COMPILED))
    if eager.failure is None or runner.ladder[AGAIN].outcome != RungOutcome.RAISES:
        summary = "Eager raises in one run and returns in another."
        return make_diagnosis(runner, Kind.NONDETERMINISTIC, Layer.EAGER, summary, (EAGER, AGAIN))
    layer = find_failing_layer(runner, _returns)
    return make_diagnosis(
        runner,
        Kind.ACCEPTS_INVALID,
        layer,
        f"Eager refuses the call with {eager.failure['exception']}; the compiled call returns a"
        " result.",
        (EAGER, AGAIN, *names),
        signature=sign_refusal(layer, eager.failure),
        failure=eager.failure,
        reproduced=measure_steadiness(runner, _returns),
    )


def _judge_unseen(runner: LadderRunner, what: str, seen: tuple[int, int]) -> Diagnosis:
    """The verdict on a failure that nothing but the script's own call has shown."""
    summary = f"The script's compiled call {what}, but none of {seen[1] - 1} repetitions did."
    return make_diagnosis(
        runner, Kind.NOT_REPRODUCED, Layer.NONE, summary, (COMPILED,), reproduced=seen
    )


def _judge_death(runner: LadderRunner) -> Diagnosis:
    """The compiled call ends the process."""
    names = climb(runner)

    def is_dead(rung: MeasuredRung) -> bool:
        return rung.outcome == RungOutcome.DIED

    seen = measure_steadiness(runner, is_dead)
    dead = next((rung for rung in runner.ladder.rungs.values() if is_dead(rung)), None)
    signal = runner.finding.signal or (dead.death.signal if dead else None)
    how = signal or (dead.detail if dead else "no answer")
    if is_never_repeated(runner, seen) and runner.finding.symptom == Symptom.DIED:
        return _judge_unseen(runner, f"ended the process with {how}", seen)
    layer = find_failing_layer(runner, is_dead)
    torch_frame = stacks.parse_thread_dump(dead.death.stack) if dead else None
    eager = runner.ladder[EAGER]
    other = f"eager raises {eager.failure['exception']}" if eager.failure else "eager returns"
    memory = ", most likely because memory ran out" if how == "SIGKILL" else ""
    where = f" {torch_frame.describe()}" if torch_frame else ""
    return make_diagnosis(
        runner,
        Kind.PROCESS_DEATH,
        layer,
        f"The compiled call ends the process with {how}{where}{memory}; {other}"
        f"{describe_frequency(seen)}.",
        (EAGER, *names),
        signature=Signature(Kind.PROCESS_DEATH, layer, signal=signal),
        torch_frame=torch_frame,
        reproduced=seen,
    )


def _judge_hang(runner: LadderRunner) -> Diagnosis:
    """The compiled call did not end within its limit."""
    names = climb_while_it_hangs(runner)
    stuck = runner.ladder[COMPILED]
    if stuck.outcome == RungOutcome.DIED:
        return _judge_death(runner)
    if stuck.outcome in (RungOutcome.RAISES, RungOutcome.DIFFERS):
        # the call was slow, not stuck, and what comes of it in the end is the bug
        runner.take_finding_from(stuck)
        return _judge_symptom(runner)
    if stuck.outcome != RungOutcome.TIMEOUT:
        summary = (
            "The script's compiled call was slower than the limit, but ends when repeated"
            f" ({stuck.run.seconds:.0f} s); give it more time with --timeout."
        )
        return make_diagnosis(runner, Kind.NOT_REPRODUCED, Layer.NONE, summary, (COMPILED,))
    layer = find_failing_layer(runner, lambda rung: rung.outcome == RungOutcome.TIMEOUT)
    torch_frame = stacks.parse_thread_dump(stuck.death.stack)
    where = f" It is stuck {torch_frame.describe()}." if torch_frame else ""
    return make_diagnosis(
        runner,
        Kind.HANG,
        layer,
        f"The compiled call does not end within {runner.timeout:.0f} s; eager takes "
        f"{runner.ladder[EAGER].run.seconds:.1f} s.{where}",
        (EAGER, *names),
        signature=Signature(Kind.HANG, layer),
        torch_frame=torch_frame,
        reproduced=measure_steadiness(runner, lambda rung: rung.outcome == RungOutcome.TIMEOUT),
    )


def _judge_refusal(
    runner: LadderRunner, failure: Failure, names: tuple[str, ...]
) -> Diagnosis | None:
    """Torch refuses what it says that it does not support.

    A call with `fullgraph=True` is judged like one without: where that does something else than
    eager does, the refusal is beside the point.
    """
    said = failure["first_line"].rstrip(".")
    hint = unsupported_features.read_hint(failure)
    more = f" Torch's hint: {hint}" if hint else ""
    cited = [EAGER, *names]
    if runner.finding.original.options.get("fullgraph"):
        cited.append(NO_FULLGRAPH)
        if not runner.measure(NO_FULLGRAPH).agrees:
            return None
        more = f" With fullgraph=False the call compiles in parts and agrees with eager.{more}"
    layer = find_failing_layer(runner, _raises)
    summary = f"{STATED_LIMIT.format(said)}{more}"
    return make_diagnosis(runner, Kind.UNSUPPORTED, layer, summary, cited, failure=failure)


def _judge_crash(runner: LadderRunner) -> Diagnosis:
    """Eager runs, the compiled call raises."""
    finding = runner.finding
    if finding.original.compiler in EXPORTERS:
        refused = excuse_refusal(runner)
        if refused is not None:
            return refused
    names = climb_from_the_top(runner)
    stale = judge_stale_gradient(runner)
    if stale is not None:
        return stale
    own = runner.find_own_rung()
    rung = runner.ladder[own if finding.grads else COMPILED]
    failure = finding.failure or rung.failure
    assert failure is not None
    explained = _explain_crash(runner, failure, names)
    if explained is not None:
        return explained
    seen = measure_steadiness(runner, _raises)
    if is_never_repeated(runner, seen):
        return _judge_unseen(runner, f"raised {failure.get('exception')}", seen)
    layer = _find_layer_of_crash(runner, failure, names)
    kind = Kind.CRASH_ON_RECOMPILE if _needs_recompiling(runner) else Kind.CRASH
    phase = rung.run.phase or runner.ladder[own].run.phase
    what = "The compiled backward pass" if phase == "backward" else DOING[finding.original.compiler]
    if finding.original.compiler == Compiler.COMPILE and stacks.is_raised_while_running(failure):
        what = f"{what if phase == 'backward' else 'The compiled code'}, while it runs,"
    if finding.original.compiler == Compiler.EXPORT and stacks.is_raised_by_exported(failure):
        what = "The exported program"
    return make_diagnosis(
        runner,
        kind,
        layer,
        f"{what} raises {failure.get('exception')}; eager runs{describe_frequency(seen)}.",
        (EAGER, *names),
        signature=sign_crash(kind, layer, failure),
        failure=failure,
        reproduced=seen,
    )


def _raises(rung: MeasuredRung) -> bool:
    return rung.outcome == RungOutcome.RAISES


def _returns(rung: MeasuredRung) -> bool:
    """Whether a call returns that eager, which raises, cannot be held against."""
    return rung.outcome == RungOutcome.OK


def _find_layer_of_crash(runner: LadderRunner, failure: Failure, names: tuple[str, ...]) -> Layer:
    """The layer that raises; `names` are the rungs that were climbed."""
    layer = find_failing_layer(runner, _raises)
    if layer == Layer.INDUCTOR and not any(
        _raises(runner.ladder[name]) for name in names if name != COMPILED
    ):  # no backend shows it afresh, so only the traceback tells
        return stacks.find_raising_layer(failure) or layer
    return layer


def _needs_recompiling(runner: LadderRunner) -> bool:
    """Whether a call raises as a later call of its callable, and alone does not, however it is
    compiled.
    """
    finding = runner.finding
    recompiled = finding.original.replay and finding.original.compiler == Compiler.COMPILE
    if not recompiled or not _raises(runner.ladder[runner.find_own_rung()]):
        return False
    alone = [runner.measure(name) for name in (FRESH, DYNAMIC, MARKED_DYNAMIC)]
    return all(rung.agrees for rung in alone)


def _find_request_to_fail(failure: Failure) -> str | None:
    """The setting by which a program asks for an exception instead of being compiled again."""
    if str(failure.get("message", "")).startswith(_STANCE):
        return 'torch.compiler.set_stance("fail_on_recompile")'
    return _ON_REQUEST.get(str(failure.get("exception")))


def _explain_written_in_place(
    runner: LadderRunner, failure: Failure, names: tuple[str, ...]
) -> Diagnosis | None:
    """The verdict where a tensor that a backward pass needs is written to, in eager mode, too."""
    if _WRITTEN not in failure["message"] or runner.finding.original.compiler != Compiler.COMPILE:
        return None
    backward = runner.measure(BACKWARD)
    if backward.failure is None or _WRITTEN not in backward.failure["message"]:
        return None
    summary = (
        "The call cannot be differentiated in eager mode either: a backward pass from its"
        f" outputs raises {backward.failure['exception']}, since a tensor that it needs is"
        " written to in place. Compiling traces that pass."
    )
    cited = (EAGER, *names, BACKWARD)
    return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EAGER, summary, cited)


def _explain_crash(
    runner: LadderRunner, failure: Failure, names: tuple[str, ...]
) -> Diagnosis | None:
    """What makes an exception of a compiled call no bug: the program asked for it, promises what it
    does not keep, or meets a limit that torch states. None for a bug.

    Raises:
        CannotJudgeError: the machine has no working compiler.
    """
    if failure["exception"] in _TOOLCHAIN:
        raise CannotJudgeError(
            f"torch finds no working C++ compiler ({failure['exception']}), so nothing can be"
            " compiled here; install g++ or set CXX"
        )
    request = _find_request_to_fail(failure)
    if request is not None:
        summary = (
            f"The program asks torch to fail instead of compiling again ({request}), and this call"
            " would need that; eager runs."
        )
        return make_diagnosis(runner, Kind.RECOMPILES, Layer.DYNAMO, summary, (EAGER, *names))
    in_place = _explain_written_in_place(runner, failure, names)
    if in_place is not None:
        return in_place
    operator = unsupported_features.find_wrong_fake(failure)
    if operator is not None:
        summary = (
            f"The program's own operator {operator} returns another shape or layout than its fake"
            f" kernel promises ({failure['first_line'].rstrip('.')})."
        )
        return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.NONE, summary, (EAGER, *names))
    raised = MeasuredRung(SCRIPT, RungOutcome.RAISES, failure=failure)
    excused = excuse(runner, raised, OF_EXCEPTIONS)
    if excused is not None:
        return excused
    if runner.finding.original.compiler == Compiler.COMPILE and unsupported_features.states_limit(
        failure
    ):
        return _judge_refusal(runner, failure, names)
    return None

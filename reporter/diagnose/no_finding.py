"""The verdict where every compiled call did what eager does: what was looked at, and what fails
instead of them.
"""

from __future__ import annotations

import builtins
import re
from dataclasses import replace

from collectors.protocol.failure import ScriptException, name_signal
from collectors.protocol.repro_words import Property
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import ROUNDED, Kind, Layer
from reporter.core.signature import Signature, normalize
from reporter.diagnose import unsupported_features
from reporter.diagnose.diagnosis import Diagnosis, VerdictBasis
from reporter.diagnose.eager_faults import (
    find_childs_failure,
    find_childs_signal,
    find_failing_child,
    judge_death_in_function,
    judge_reducer,
    judge_script,
    may_be_torch,
)
from reporter.diagnose.eager_values import explain_assertion, judge_sharded
from reporter.recording import questions
from reporter.recording.findings import Recording
from templates.summaries import STATED_LIMIT
from templates.text import pluralize

#: Folders of torch whose frames in a traceback say that the compiler was at work.
_COMPILER = ("torch/_dynamo/", "torch/_functorch/", "torch/_inductor/")
#: What of a program beside its results was looked at.
_COMPARED_STATE = (
    " Of Python's state, the program's own attributes, containers, globals and closures"
    " that these calls can reach were compared; what is printed was not."
)
#: The same of an exported one (`rungs.note_state`).
_EXPORTED_STATE = (
    " What an exported program leaves undone to Python's attributes, containers and globals was"
    " not compared: torch.export takes their values as they are when it exports."
)
#: Where a run without the compiler does not fail.
_NOT_ALONE = (
    " With TORCHDYNAMO_DISABLE=1 the script does not fail in this way: look at what was not"
    " compared."
)
#: Of a script that started others, and waited for them.
_ELSEWHERE = " What it compiles in other processes was not looked at."
#: What ONNX Runtime says of inputs that a model does not take; a model it calls invalid otherwise.
_WRONG_ARGUMENT = re.compile(r"\[ONNXRuntimeError\] : \d+ : INVALID_ARGUMENT\b")
#: Seconds that a script may take to be run once more.
_LONGEST = 60.0
#: Seconds for one more look at a call.
_LOOK = 120.0
#: Seconds of processor time in which no process imports torch and compiles anything.
_IDLE = 1.0


def did_script_fail(recording: Recording) -> bool:
    """Whether the script itself ended badly, by its own assertion or otherwise."""
    return recording.script.exit not in (0, None) and not recording.script.stopped


def may_fail_elsewhere(recording: Recording) -> bool:
    """Whether a script that compiles nothing itself may have failed by what another process
    compiled, which it started and waited for.
    """
    script = recording.script
    return (
        did_script_fail(recording)
        and recording.counts.calls == 0
        and script.waited_for >= _IDLE
        and script.seconds <= _LONGEST
    )


def may_fail_uncompiled(recording: Recording) -> bool:
    """Whether a short script fails though its compiled calls agree with eager, so that a run
    without the compiler says more.

    The variable that switches torch.compile off leaves exported programs and packages as they are.
    Nor is there anything to be learned of a file or a module that is missing.
    """
    raised = recording.script.exception
    return (
        raised is not None
        and not _is_about_machine(raised)
        and recording.counts.compared > 0
        and not recording.counts.exports
        and did_script_fail(recording)
        and recording.script.seconds <= _LONGEST
    )


def _is_about_machine(raised: ScriptException) -> bool:
    """Whether an exception is one of the operating system or of an import, which no value of a
    tensor decides.
    """
    kind = getattr(builtins, raised["class"], None)
    return isinstance(kind, type) and issubclass(kind, (OSError, ImportError))


def find_childs_assertion(recording: Recording) -> int | None:
    """Which process of torch.multiprocessing.spawn ended a short script, that compiles nothing, by
    an assertion of the script's own; None for any other end.
    """
    raised = recording.script.exception
    if raised is None or recording.counts.calls or recording.script.seconds > _LONGEST:
        return None
    failure = find_childs_failure(raised["failure"])
    if failure["exception"] != "AssertionError":
        return None
    return find_failing_child(raised["failure"])


def have_same_ending(one: ScriptException | None, other: ScriptException | None) -> bool:
    """Whether two runs of a script were ended by the same exception, apart from numbers."""
    if one is None or other is None or one["class"] != other["class"]:
        return False
    lines = (normalize(each["failure"]["first_line"]) for each in (one, other))
    return one["location"] == other["location"] and len(set(lines)) == 1


def ends_in_rejected_call(recording: Recording) -> bool:
    """Whether the script was ended by a compiled call that eager mode refuses as well."""
    raised, rejected = recording.script.exception, recording.rejected
    if raised is None or rejected is None or not did_script_fail(recording):
        return False
    said = rejected["first_line"]
    return bool(said) and said in raised["failure"]["message"]


def judge_without_finding(recording: Recording) -> Diagnosis:
    """The verdict when every compiled call did what eager does.

    Raises:
        CannotJudgeError: no call could be compared, or the script died outside of what is watched.
    """
    script, calls, rejected = recording.script, recording.counts.calls, recording.rejected
    raised = script.exception
    internal = judge_script(recording) if may_be_torch(recording) else None
    if internal is not None:
        return internal
    if recording.further_runs.died_in:
        return judge_death_in_function(recording)
    if may_be_torch(recording) and raised is None:
        raise CannotJudgeError(
            f"the script is ended by {name_signal(-(script.exit or 0))}, in no call of a"
            " torch function or of a compiled one that can be watched;"
            " `python -X faulthandler` tells where that is"
        )
    explained = judge_sharded(recording) or judge_reducer(recording) or explain_assertion(recording)
    if explained is not None:
        return explained
    if calls == 0:
        return _judge_without_call(recording)
    if rejected and did_script_fail(recording):
        line = f"{rejected['exception']}: {rejected['first_line'].rstrip('.')}"
        return Diagnosis(Kind.INVALID_PROGRAM, Layer.EAGER, f"Eager fails as well: {line}.")
    if did_script_fail(recording) and raised is not None:
        found = (
            _judge_error_outside(recording, raised)
            or _judge_added_outputs(recording)
            or _judge_random_assertion(recording)
        )
        if found is not None:
            return found
    if raised is not None and recording.further_runs.fails_uncompiled:
        return blame_program(recording, Diagnosis(Kind.NOT_REPRODUCED, Layer.NONE, ""))
    if not recording.counts.compared:
        guess = "their inputs or outputs cannot be copied, or eager takes too long"
        why = ", ".join(sorted(recording.counts.obstacles)) or guess
        raise CannotJudgeError(
            f"none of the {calls} compiled calls can be repeated in eager mode ({why}), so nothing"
            " can be said about them"
        )
    return Diagnosis(Kind.NOT_REPRODUCED, Layer.NONE, _describe_agreement(recording))


def judge_leaked_tensors(recording: Recording) -> Diagnosis | None:
    """The verdict on a script that torch stops after torch.export has left tensors without values
    in its module: eager mode computes with them from then on. None for any other end.
    """
    raised = recording.script.exception
    if not recording.counts.leaks or raised is None or not raised["raised_in_torch"]:
        return None
    summary = (
        "torch.export leaves a fake tensor, which has a shape and no values, in the module that it"
        " exports; what eager mode computes with the module afterwards has no values either, and"
        f" the script fails with {raised['class']}{_locate(raised)}."
    )
    return Diagnosis(
        Kind.WRONG_METADATA,
        Layer.EXPORT,
        summary,
        signature=Signature(Kind.WRONG_METADATA, Layer.EXPORT, property=Property.SIDE_EFFECT),
        basis=VerdictBasis(reproduced=(1, 1)),
    )


def _judge_without_call(recording: Recording) -> Diagnosis:
    """The verdict where no compiled function was called.

    Raises:
        CannotJudgeError: a process of the script died, or the script was stopped, before anything
            was compiled.
    """
    script, raised = recording.script, recording.script.exception
    if recording.further_runs.fails_uncompiled is False:
        summary = (
            "The script fails only with the compiler, and what is compiled is compiled by another"
            " process that it starts, which was not looked at."
        )
        return Diagnosis(Kind.OUTSIDE, Layer.NONE, summary)
    if raised and find_childs_signal(raised["failure"]):
        raise CannotJudgeError(
            "a process that the script starts is ended by"
            f" {find_childs_signal(raised['failure'])}, in no call of a torch function that can be"
            " watched; start what it does as a script of its own"
        )
    if raised:
        failure = find_childs_failure(raised["failure"])
        line = f"{raised['class']}{_locate(raised)} before anything was compiled"
        if failure is not raised["failure"]:
            said = failure["first_line"].rstrip(".")
            line += f"; in the process that it started, {failure['exception']}: {said}"
        summary = f"The program fails without the compiler: {line}."
        return Diagnosis(Kind.INVALID_PROGRAM, Layer.EAGER, summary)
    if script.stopped:
        raise CannotJudgeError(
            "the script was stopped after its time limit and had compiled nothing by then; give it"
            " more with --timeout"
        )
    return Diagnosis(
        Kind.NOT_REPRODUCED,
        Layer.NONE,
        "Nothing was compiled: the script made no call of a compiled function."
        + (_ELSEWHERE if script.waited_for >= _IDLE else ""),
    )


def blame_program(recording: Recording, excused: Diagnosis) -> Diagnosis:
    """The verdict on a script that its own exception ends with and without the compiler, where the
    compiled calls agree with eager or differ from it by rounding (`excused`).
    """
    raised = recording.script.exception
    assert raised is not None
    differ = (
        "differs from eager by rounding only" if excused.kind in ROUNDED else "agrees with eager"
    )
    summary = (
        "The program fails in the same way without the compiler:"
        f" {raised['class']}{_locate(raised)}."
        f" What its compiled calls returned {differ}."
    )
    return replace(excused, kind=Kind.INVALID_PROGRAM, layer=Layer.EAGER, summary=summary)


def blame_capture(recording: Recording, excused: Diagnosis) -> Diagnosis:
    """The verdict on a script that fails only with the compiler, but also where eager mode runs the
    graphs that Dynamo captures: what it minds was not seen, and rounding (`excused`) is not it.
    """
    raised = recording.script.exception
    assert raised is not None
    summary = (
        f"The script fails with the compiler alone: {raised['class']}{_locate(raised)}. What its"
        " compiled calls returned differs from eager by rounding only, and that is not what it"
        " minds: with backend eager, which rounds alike, it fails in the same way. Look at what"
        " Python does in the compiled functions: Dynamo traces it, and runs it again when it"
        " compiles again."
    )
    return replace(excused, kind=Kind.NOT_REPRODUCED, layer=Layer.NONE, summary=summary)


def judge_stated_limit(recording: Recording) -> Diagnosis | None:
    """The verdict on a script that ends where torch states a limit, such as a second derivative
    through a compiled function; None for any other end.
    """
    raised = recording.script.exception
    if (
        raised is None
        or not did_script_fail(recording)
        or not unsupported_features.states_limit(raised["failure"])
    ):
        return None
    is_traced = any(file.startswith("torch/_dynamo/") for file in _list_torch_files(raised))
    layer = Layer.DYNAMO if is_traced else Layer.AOT_AUTOGRAD
    if unsupported_features.is_overwritten(raised["failure"]):
        layer = Layer.INDUCTOR
    said = raised["failure"]["first_line"].rstrip(".")
    return Diagnosis(Kind.UNSUPPORTED, layer, STATED_LIMIT.format(said))


def _list_torch_files(raised: ScriptException) -> list[str]:
    return [frame["file"] for frame in raised["failure"].get("frames") or () if frame["torch"]]


def _judge_error_outside(recording: Recording, raised: ScriptException) -> Diagnosis | None:
    """The verdict on an exception that torch raised and that no compared call has anything to do
    with; that of a limit which torch states, wherever it comes from.
    """
    limit = judge_stated_limit(recording)
    if limit is not None:
        return limit
    failure = raised["failure"]
    files = _list_torch_files(raised)
    if _WRONG_ARGUMENT.match(failure["message"]):
        said = failure["first_line"].rstrip(".")
        summary = f"ONNX Runtime refuses what the script gives it{_locate(raised)}: {said}."
        return Diagnosis(Kind.INVALID_PROGRAM, Layer.ONNX, summary)
    is_compiler = any(file.startswith(_COMPILER) for file in files)
    is_outside = raised["raised_in_torch"] or _is_about_machine(raised)
    if is_compiler or raised["class"] == "AssertionError" or not is_outside:
        return None
    summary = (
        f"The program fails outside of its compiled calls, with {raised['class']}{_locate(raised)}:"
        f" {failure['first_line'].rstrip('.')}."
    )
    if recording.counts.compared:
        summary += " What the compiled calls returned agrees with eager."
    return Diagnosis(Kind.INVALID_PROGRAM, Layer.EAGER, summary)


def _judge_random_assertion(recording: Recording) -> Diagnosis | None:
    """The verdict on a script whose assertion fails though its calls agree from the same random
    state, where they draw random numbers: two calls in turn draw others. Of what the script has
    exported and never called it has no values.
    """
    if recording.counts.made == recording.counts.calls:
        return None
    for last in recording.last_calls:
        path = str(last.call_session.folder / f"drawn-{last.call}.pt")
        question = questions.run({"how": "probe", "snapshot": path})
        facts = last.call_session.request(question, _LOOK).get("facts")
        if facts and facts.get("random"):
            summary = (
                f"The script fails{_locate(recording.script.exception)}. Its compiled calls draw"
                " random numbers; from the same state of the generator they agree with eager, and"
                " two calls in turn draw others, compiled or not."
            )
            return Diagnosis(Kind.NONDETERMINISTIC, Layer.EAGER, summary)
    return None


def _judge_added_outputs(recording: Recording) -> Diagnosis | None:
    """The verdict on a script whose assertion minds what decomposing adds to a graph that computes
    and writes what its module does: a functional graph returns what it is to write to
    (`InputKind` and `OutputKind` in torch/export/graph_signature.py, 2.13).
    """
    if not recording.further_runs.right_without_added_outputs or recording.counts.unchecked:
        return None
    summary = (
        f"The script fails{_locate(recording.script.exception)}, and only because decomposing adds"
        f" {pluralize(recording.counts.added_outputs, 'output')} to the graph of what it exports,"
        " one for each input or buffer that is written to: without them its own assertion passes."
        " What was exported returns what eager mode does, and writes what it does."
    )
    return Diagnosis(Kind.INVALID_PROGRAM, Layer.EXPORT, summary)


def _describe_agreement(recording: Recording) -> str:
    """What was looked at, and no more."""
    made = pluralize(recording.counts.calls, "compiled call")
    if recording.counts.compared < recording.counts.calls:
        made = f"{recording.counts.compared} of {made}, those that were compared,"
    if did_script_fail(recording):
        return (
            f"The script fails{_locate(recording.script.exception)}, but what {made}"
            " returned agrees with eager on the same inputs:"
            " what fails is not the result of a compiled call."
            + (_EXPORTED_STATE if recording.counts.exports else _COMPARED_STATE)
            + (_NOT_ALONE if recording.further_runs.fails_uncompiled is False else "")
            + _describe_obstacles(recording)
        )
    until = " until the script was stopped after its time limit (--timeout)"
    refused = "; where compiling raised, eager raises as well" if recording.rejected else ""
    stopped = until if recording.script.stopped else ""
    return f"What {made} returned{stopped} agrees with eager{refused}."


def _locate(raised: ScriptException | None) -> str:
    """Where the script's own exception was raised, to be put behind its class."""
    return f" in {raised['location']}" if raised is not None and raised["location"] else ""


def _describe_obstacles(recording: Recording) -> str:
    """Why the other calls were not compared, as far as that is known; a triage may post it, so
    without what the program itself said.
    """
    counts = recording.counts
    if not counts.unchecked or not counts.obstacles:
        return ""
    reasons = sorted({obstacle.partition(":")[0] for obstacle in counts.obstacles})
    return f" Not compared: {counts.unchecked} ({', '.join(reasons)})."

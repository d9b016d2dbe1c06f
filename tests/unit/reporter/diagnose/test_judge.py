"""The order of proof for what raises, dies or hangs, and the verdict on a recording as a whole."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from collectors.protocol.calls import LostAnswer
from reporter.core.errors import CannotJudgeError
from reporter.core.settings import Options
from reporter.diagnose.diagnosis import BUGS, Diagnosis
from reporter.diagnose.explanation import write_command
from reporter.diagnose.judge import is_tight, judge
from reporter.diagnose.no_finding import did_script_fail
from reporter.diagnose.rungs import AGAIN, BACKWARD, EAGER, EXACT, RUNGS
from tests.support.made_up_call import (
    DEADLY,
    EQUAL,
    LIMIT,
    STUCK,
    WITHIN,
    WRONG,
    MadeUp,
    compared,
    finding,
    raises,
    recording,
    value,
    verdict,
)
from tests.support.verdict_table import CASES

OWN = {"backend": {"callable": "mine"}}
RUNGS_OF_INDUCTOR = (
    EAGER,
    "compiled",
    "eager",
    "aot_eager",
    "aot_eager_decomp_partition",
    "inductor",
)


def both(answer: Any) -> dict[str, Any]:
    """The same answer of the reused and of the fresh compile."""
    return {"compiled": answer, "inductor": answer}


def test_what_is_a_bug_is_what_the_table_says() -> None:
    assert BUGS == {case.kind for case in CASES.values() if case.is_bug}
    for case in CASES.values():
        assert Diagnosis(case.kind, case.layer, "").is_bug == case.is_bug


# -- eager first -----------------------------------------------------------------------------------


@pytest.mark.parametrize("symptom", ["raised", "died", "hang", "differs", "accepts"])
@pytest.mark.parametrize(("answer", "how"), [(DEADLY, "SIGSEGV"), (STUCK, "timeout")])
def test_a_program_that_does_not_survive_eager_is_invalid(
    symptom: str, answer: Any, how: str
) -> None:
    found, call_session = verdict({**both(raises()), EAGER: answer}, symptom)
    assert (found.kind, found.layer, found.is_bug) == ("invalid_program", "eager", False)
    assert found.summary == f"Eager alone does not survive the call: {how}."
    assert found.basis.cited == (EAGER,) and "compiled" not in call_session.measured()


@pytest.mark.parametrize(
    ("lost", "ending"),
    [
        (LostAnswer.UNWRITTEN, "its answer could not be written"),
        (LostAnswer.SERVER, "fork server lost"),
    ],
)
def test_an_answer_that_the_machine_lost_says_nothing_of_the_program(
    lost: LostAnswer, ending: str
) -> None:
    answer = {"outcome": "died", "lost": lost}
    with pytest.raises(CannotJudgeError, match=f"without an answer .{ending}"):
        verdict({**both(raises()), EAGER: answer}, "raised")


def test_a_call_for_which_the_device_has_no_room_twice_cannot_be_judged() -> None:
    full = {"outcome": "error", "detail": "the device has not enough memory for another run"}
    answers, given = {**both(raises()), EAGER: full}, raises("OutOfMemoryError")["failure"]
    with pytest.raises(CannotJudgeError, match="in eager mode, beside the program"):
        verdict(answers, "raised", failure=given)


def test_what_a_running_kernel_raises_is_no_failure_to_compile() -> None:
    frames = [
        {"file": file, "function": "call", "line": 1, "torch": True}
        for file in ("torch/_dynamo/eval_frame.py", "torch/_inductor/output_code.py")
    ]
    answer = raises()
    failure = {**answer["failure"], "frames": frames}
    answer["failure"] = failure
    found, _ = verdict(both(answer), "raised", failure=failure)
    assert found.summary.startswith("The compiled code, while it runs, raises KeyError")


def test_a_call_of_an_exported_program_that_raises_is_no_failure_to_export() -> None:
    answer, call = raises(), {"file": "torch/fx/graph_module.py", "function": "call_wrapped"}
    answer["failure"] = {**answer["failure"], "frames": [call]}
    given = {"failure": answer["failure"], "options": {"compiler": "export"}}
    found, _ = verdict({"compiled": answer}, "raised", **given)
    assert found.summary.startswith("The exported program raises KeyError; eager runs")
    found, _ = verdict(both(raises()), "raised")
    assert found.summary.startswith("Compiling raises KeyError")


@pytest.mark.parametrize("symptom", ["raised", "hang"])
def test_where_eager_raises_too_the_program_is_invalid(symptom: str) -> None:
    found, _ = verdict({**both(raises()), EAGER: raises("TypeError", "odd")}, symptom)
    assert (found.kind, found.layer) == ("invalid_program", "eager")
    assert found.summary == "Eager fails as well: TypeError: odd."
    assert found.basis.cited == (EAGER, "compiled")


def test_a_difference_where_eager_raises_is_judged_as_a_difference() -> None:
    found, _ = verdict({EAGER: raises()})
    assert found.kind == "rounding"


@pytest.mark.parametrize(
    ("rungs", "layer", "seen"),
    [
        ({}, "dynamo", (3, 3)),
        ({"eager": raises()}, "aot_autograd", (3, 3)),
        ({"eager": raises(), "aot_eager": raises()}, "decomposition", (3, 3)),
        ({"inductor": raises()}, "dynamo", (2, 3)),
    ],
)
def test_a_result_where_eager_refuses_is_accepted_too_much(
    rungs: Any, layer: str, seen: tuple[int, int]
) -> None:
    refused = raises("ValueError", "refused")
    found, _ = verdict({EAGER: refused, AGAIN: refused, **rungs}, "accepts")
    assert (found.kind, found.layer, found.is_bug) == ("accepts_invalid", layer, True)
    assert found.summary == (
        "Eager refuses the call with ValueError; the compiled call returns a result."
    )
    assert found.basis.cited == (EAGER, AGAIN, *RUNGS_OF_INDUCTOR[1:])
    assert found.failure is not None and found.failure["first_line"] == "refused"
    assert found.signature is not None and found.signature.exception == "ValueError"
    assert (found.signature.kind, found.signature.layer) == ("accepts_invalid", layer)
    assert found.basis.reproduced == seen


def test_eager_that_refuses_in_one_run_only_is_nondeterministic() -> None:
    found, _ = verdict({EAGER: raises()}, "accepts")
    assert (found.kind, found.layer) == ("nondeterministic", "eager")
    assert found.basis.cited == (EAGER, AGAIN)


def test_eager_that_refuses_the_script_and_no_repetition_is_nondeterministic() -> None:
    found, _ = verdict({AGAIN: raises(), "compiled": raises()}, "accepts")
    assert (found.kind, found.layer) == ("nondeterministic", "eager")


@pytest.mark.parametrize("compiled", [STUCK, raises("ValueError")])
def test_a_call_that_does_not_return_accepts_nothing(compiled: Any) -> None:
    found, _ = verdict({EAGER: raises(), AGAIN: raises(), "compiled": compiled}, "accepts")
    assert found.kind == "invalid_program"


def test_a_process_that_dies_where_eager_raises_is_a_death() -> None:
    refused = {EAGER: raises("ValueError"), AGAIN: raises("ValueError")}
    for symptom, rungs in (("died", {}), ("accepts", both(DEADLY)), ("raised", both(DEADLY))):
        more = {"signal": "SIGABRT"} if symptom == "died" else {}
        found, _ = verdict({**both(DEADLY), **refused, **rungs}, symptom, **more)
        assert (found.kind, found.layer) == ("process_death", "inductor")
        assert found.summary.endswith("; eager raises ValueError.")


# -- deaths ----------------------------------------------------------------------------------------


def test_a_death_is_told_with_its_signal_and_its_place() -> None:
    log = 'Thread 0x0:\n  File "/x/site-packages/torch/_inductor/graph.py", line 1 in run'
    found, _ = verdict(both({**DEADLY, "detail": log}), "died", signal="SIGABRT")
    assert (found.kind, found.layer, found.is_bug) == ("process_death", "inductor", True)
    assert found.summary == (
        "The compiled call ends the process with SIGABRT"
        " while compiling in torch/_inductor/graph.py:run; eager returns."
    )
    assert found.basis.cited == RUNGS_OF_INDUCTOR and found.basis.reproduced == (3, 3)
    assert found.torch_frame is not None and found.torch_frame.phase == "compiling"
    assert found.signature is not None and found.signature.signal == "SIGABRT"


def test_a_death_without_a_signal_of_the_scripts_has_that_of_a_repetition() -> None:
    found, _ = verdict(both(DEADLY), "died")
    assert "with SIGSEGV; eager returns" in found.summary and found.torch_frame is None
    assert found.signature is not None and found.signature.signal == "SIGSEGV"


def test_a_kill_is_most_likely_for_memory() -> None:
    found, _ = verdict(both({**DEADLY, "signal": "SIGKILL"}), "died", signal="SIGKILL")
    assert "SIGKILL, most likely because memory ran out; eager" in found.summary
    assert "memory" not in verdict(both(DEADLY), "died", signal="SIGABRT")[0].summary


def test_a_death_that_some_repetitions_show_is_counted() -> None:
    found, _ = verdict({"repeat 2": DEADLY}, "died", signal="SIGABRT")
    assert found.kind == "process_death" and found.basis.reproduced == (2, 8)
    assert found.summary.endswith("; seen in 2 of 8 runs.") and found.layer == "inductor"


def test_a_death_that_no_repetition_shows_is_not_reproduced() -> None:
    found, _ = verdict({}, "died", signal="SIGABRT")
    assert (found.kind, found.layer, found.is_bug) == ("not_reproduced", "none", False)
    assert found.summary == (
        "The script's compiled call ended the process with SIGABRT, but none of 7 repetitions did."
    )
    assert found.basis.cited == ("compiled",) and found.basis.reproduced == (1, 8)


def test_the_lowest_backend_that_dies_is_the_layer() -> None:
    found, _ = verdict({**both(DEADLY), "eager": DEADLY}, "died", signal="SIGSEGV")
    assert found.layer == "dynamo"


# -- hangs -----------------------------------------------------------------------------------------


def test_a_hang_is_told_with_its_limit_and_its_place() -> None:
    found, _ = verdict(both(STUCK), "hang")
    assert (found.kind, found.layer, found.is_bug) == ("hang", "inductor", True)
    assert found.summary == (
        "The compiled call does not end within 100 s; eager takes 2.0 s."
        " It is stuck while running in torch/a.py:f."
    )
    assert found.basis.cited == RUNGS_OF_INDUCTOR and found.basis.reproduced == (3, 3)
    assert found.signature is not None and found.signature.kind == "hang"


def test_a_hang_without_a_stack_has_no_place() -> None:
    found, _ = verdict(both({"outcome": "timeout", "detail": ""}), "hang")
    assert found.kind == "hang" and found.torch_frame is None
    assert found.summary.endswith("eager takes 2.0 s.")


def test_the_lowest_backend_that_hangs_is_the_layer() -> None:
    rungs = {**both(STUCK), "aot_eager": STUCK, "eager": raises()}
    assert verdict(rungs, "hang")[0].layer == "aot_autograd"


def test_a_call_that_ends_when_repeated_was_slow() -> None:
    found, _ = verdict({}, "hang")
    assert (found.kind, found.layer) == ("not_reproduced", "none")
    assert "but ends when repeated (2 s); give it more time with --timeout" in found.summary
    assert found.basis.cited == ("compiled",)


def test_a_slow_call_that_dies_in_the_end_is_a_death() -> None:
    found, _ = verdict(both(DEADLY), "hang")
    assert found.kind == "process_death" and "SIGSEGV" in found.summary


def test_a_slow_call_that_raises_in_the_end_is_a_crash_without_the_scripts_own_call() -> None:
    found, _ = verdict(both(raises("ValueError")), "hang")
    assert (found.kind, found.basis.reproduced) == ("crash", (2, 2))
    assert found.failure is not None and found.failure["exception"] == "ValueError"
    assert found.basis.finding is not None and found.basis.finding.symptom == "raised"


def test_a_slow_call_that_is_wrong_in_the_end_is_wrong_without_the_scripts_own_call() -> None:
    found, _ = verdict(both(WRONG), "hang")
    assert (found.kind, found.basis.reproduced) == ("wrong_result", (2, 2))
    assert found.basis.finding is not None and found.basis.finding.symptom == "differs"
    assert found.basis.finding.comparison == WRONG


# -- exceptions ------------------------------------------------------------------------------------


def test_a_crash_has_its_exception_its_layer_and_its_signature() -> None:
    found, _ = verdict(both(raises()), "raised")
    assert (found.kind, found.layer, found.is_bug) == ("crash", "inductor", True)
    assert found.summary == "Compiling raises KeyError; eager runs."
    assert found.basis.cited == RUNGS_OF_INDUCTOR and found.basis.reproduced == (3, 3)
    assert found.signature is not None and found.signature.exception == "KeyError"
    assert found.signature.frames == ("torch/a.py:f",)
    assert found.failure == raises()["failure"]


def test_the_scripts_own_failure_is_what_is_told() -> None:
    own = raises("IndexError", "own")["failure"]
    found, _ = verdict(both(raises()), "raised", failure=own)
    assert found.failure == own and "IndexError" in found.summary


def test_where_the_script_has_none_the_failure_is_that_of_the_repetition() -> None:
    found, _ = verdict(both(raises("IndexError")), "raised", failure=None)
    assert found.failure is not None and found.failure["exception"] == "IndexError"
    rungs = {"compiled": raises("IndexError"), "inductor": raises("KeyError", phase="backward")}
    found, _ = verdict(rungs, "raised", failure=None, grads="flows.pt")
    assert found.failure is not None and found.failure["exception"] == "KeyError"
    assert found.summary.startswith("The compiled backward pass raises KeyError")


@pytest.mark.parametrize(
    ("compiled", "inductor", "what"),
    [
        ("backward", "forward", "The compiled backward pass"),
        ("forward", "backward", "Compiling"),
        ("", "backward", "The compiled backward pass"),
    ],
)
def test_the_phase_is_that_of_the_users_call(compiled: str, inductor: str, what: str) -> None:
    rungs = {"compiled": raises(phase=compiled), "inductor": raises(phase=inductor)}
    assert verdict(rungs, "raised")[0].summary.startswith(f"{what} raises")


def test_a_machine_without_a_compiler_cannot_judge() -> None:
    failure = raises("InvalidCxxCompiler")["failure"]
    with pytest.raises(CannotJudgeError, match="no working C.. compiler .InvalidCxxCompiler."):
        verdict(both(raises()), "raised", failure=failure)


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("torch.ops.program.halve.default", "invalid_program"),
        ("torch.ops.aten.sort.stable", "crash"),
    ],
)
def test_a_wrong_fake_kernel_is_the_fault_of_whose_operator_it_is(operator: str, kind: str) -> None:
    failure = raises("AssertionError", "expected size 3==3, stride 4==1 at dim=0")["failure"]
    failure["message"] += (
        f"\nError in op: {operator}\nThis error most often comes from a incorrect fake (aka meta)"
        " kernel for a custom op."
    )
    found, _ = verdict(both(raises()), "raised", failure=failure)
    assert found.kind == kind
    assert ("torch.ops.program.halve returns another shape" in found.summary) == (kind != "crash")


@pytest.mark.parametrize(
    ("exception", "message", "request_"),
    [
        ("RecompileError", "no", "error_on_recompile"),
        ("FailOnRecompileLimitHit", "no", "fail_on_recompile_limit_hit"),
        ("FailOnCacheLimitHit", "no", "fail_on_cache_limit_hit"),
        (
            "RuntimeError",
            "Detected recompile when torch.compile stance is 'fail_on_recompile'",
            'set_stance("fail_on_recompile")',
        ),
    ],
)
def test_a_program_that_asks_torch_to_fail_gets_what_it_asks_for(
    exception: str, message: str, request_: str
) -> None:
    failure = raises(exception, message)["failure"]
    found, _ = verdict(both(raises()), "raised", failure=failure)
    assert (found.kind, found.layer, found.is_bug) == ("recompiles", "dynamo", False)
    assert request_ in found.summary and found.basis.cited == RUNGS_OF_INDUCTOR


def test_a_message_that_only_mentions_a_stance_is_a_crash() -> None:
    failure = raises("RuntimeError", "x Detected recompile when torch.compile stance is")["failure"]
    assert verdict(both(raises()), "raised", failure=failure)[0].kind == "crash"


def test_a_program_that_eager_cannot_differentiate_either_is_invalid() -> None:
    said = "one of the variables needed for gradient computation has been modified by an inplace"
    written = raises("RuntimeError", f"{said} operation: [torch.FloatTensor [3]]")
    rungs = dict.fromkeys(
        ("compiled", "aot_eager", "aot_eager_decomp_partition", "inductor"), written
    )
    found, _ = verdict({**rungs, BACKWARD: written}, "raised", failure=written["failure"])
    assert (found.kind, found.layer, found.basis.cited[-1]) == (
        "invalid_program",
        "eager",
        BACKWARD,
    )
    assert "cannot be differentiated in eager mode either" in found.summary
    found, call_session = verdict(rungs, "raised", failure=written["failure"])
    assert (found.kind, found.is_bug) == ("crash", True)
    assert BACKWARD in call_session.measured()
    _, call_session = verdict({"compiled": raises()}, "raised")
    assert BACKWARD not in call_session.measured()


def test_a_crash_that_no_repetition_shows_is_not_reproduced() -> None:
    found, _ = verdict({}, "raised")
    assert (found.kind, found.layer) == ("not_reproduced", "none")
    assert found.summary == (
        "The script's compiled call raised KeyError, but none of 7 repetitions did."
    )
    assert found.basis.reproduced == (1, 8)


def test_a_crash_that_some_repetitions_show_is_counted() -> None:
    found, _ = verdict({"repeat 1": raises()}, "raised")
    assert found.basis.reproduced == (2, 8)
    assert found.summary == "Compiling raises KeyError; eager runs; seen in 2 of 8 runs."


FRESH = ("fresh compile", "dynamic=True", "mark_dynamic")


def test_a_crash_that_only_recompiling_shows() -> None:
    found, call_session = verdict(both(raises()), "raised", replay=True)
    assert (found.kind, found.layer) == ("crash_on_recompile", "inductor")
    assert found.signature is not None and found.signature.kind == "crash_on_recompile"
    assert tuple(call_session.measured()[-3:]) == FRESH


@pytest.mark.parametrize("name", FRESH)
def test_a_crash_that_a_fresh_compile_shows_too_is_a_crash(name: str) -> None:
    found, _ = verdict({**both(raises()), name: raises()}, "raised", replay=True)
    assert found.kind == "crash"


def test_only_a_call_with_calls_before_it_can_crash_on_recompiling() -> None:
    found, call_session = verdict(both(raises()), "raised")
    assert found.kind == "crash" and not set(FRESH) & set(call_session.measured())
    found, call_session = verdict({"compiled": raises()}, "raised", replay=True)
    assert found.kind == "crash" and not set(FRESH) & set(call_session.measured())


def test_a_crash_that_no_backend_shows_afresh_is_in_the_layer_that_raised() -> None:
    files = ("torch/_dynamo/utils.py", "torch/_subclasses/fake_tensor.py")
    shown = raises()
    shown["failure"]["frames"] = [{"file": f, "function": "f", "torch": True} for f in files]
    given = {"failure": shown["failure"], "replay": True}
    found, _ = verdict({"compiled": shown}, "raised", **given)
    assert (found.kind, found.layer) == ("crash", "dynamo")


def test_where_one_compile_takes_long_no_rung_is_measured_in_vain() -> None:
    found, call_session = verdict({"compiled": raises()}, "raised", seconds=31.0)
    assert (found.kind, found.layer, found.basis.reproduced) == ("crash", "inductor", (2, 2))
    assert found.basis.cited == (EAGER, "compiled", "aot_eager_decomp_partition")
    assert not {"eager", "aot_eager", "inductor"} & set(call_session.measured())


# -- a recording as a whole ------------------------------------------------------------------------


def said(*args: Any, **facts: Any) -> Diagnosis:
    return judge(recording(*args, **facts), LIMIT, lambda _: None)


def test_the_first_finding_that_is_a_bug_is_the_verdict() -> None:
    excused = finding(MadeUp({AGAIN: WRONG}))
    wrong = finding(MadeUp(both(WRONG)))
    last = finding(MadeUp(both(raises())), "raised")
    assert said(excused, wrong, last).basis.finding is wrong


def test_without_a_bug_the_first_finding_is_explained() -> None:
    first, second = finding(MadeUp({AGAIN: WRONG})), finding(MadeUp({EAGER: DEADLY}))
    found = said(first, second)
    assert found.basis.finding is first and found.kind == "nondeterministic"


def test_what_is_suspicious_only_is_left_alone_within_the_tolerance() -> None:
    call_session = MadeUp(both(WITHIN))
    one = finding(call_session, "suspicious", comparison=WITHIN)
    assert is_tight(one)
    assert said(one).kind == "not_reproduced" and call_session.asked == []
    assert said(one, exit=1).kind == "rounding" and call_session.asked != []


def test_a_tolerance_that_is_larger_than_the_values_is_told() -> None:
    sizes = {"scale": 5e-5, "error_vs_fp64": 5e-5, "eager_error_vs_fp64": 1e-12}
    lost = compared(value(same=True, tight=False, max_abs_error=9e-5, rms_error=5e-5, **sizes))
    found, _ = verdict({EXACT: EQUAL, "compiled": lost, "inductor": lost})
    assert found.kind == "rounding"
    assert "which is absolute" in found.summary and "off by 100% of their size" in found.summary
    near = compared(value(same=True, tight=False, **{**sizes, "error_vs_fp64": 2e-12}))
    found, _ = verdict({EXACT: EQUAL, "compiled": near, "inductor": near})
    assert "as close to float64 as eager" in found.summary


def test_what_is_suspicious_beyond_the_tolerance_is_looked_at() -> None:
    loose = {**WITHIN, "tight": False}
    one = finding(MadeUp(both(loose)), "suspicious", comparison=loose)
    assert not is_tight(one) and said(one).kind == "rounding"
    assert not is_tight(finding(MadeUp({}), "suspicious", comparison=None))


def test_what_is_suspicious_is_looked_at_where_a_finding_before_it_was_explained() -> None:
    call_session = MadeUp(both(WRONG))
    suspicious = finding(call_session, "suspicious", comparison=WITHIN)
    assert said(finding(MadeUp({AGAIN: WRONG})), suspicious).kind == "wrong_result"


@pytest.mark.parametrize(
    ("exit_status", "stopped", "failed"),
    [(0, False, False), (None, False, False), (1, False, True), (-9, True, False)],
)
def test_when_a_script_has_failed(exit_status: int | None, stopped: bool, failed: bool) -> None:
    assert did_script_fail(recording(exit=exit_status, stopped=stopped)) == failed


def ended_by(name: str, place: str = "", message: str = "no") -> Any:
    """An exception that ended a script, raised by its own code."""
    failure = {"exception": name, "message": message, "first_line": message}
    return {"class": name, "location": place, "raised_in_torch": False, "failure": failure}


def test_a_script_that_fails_before_anything_is_compiled_is_invalid() -> None:
    raised = ended_by("ValueError", "cell 3")
    found = said(calls=0, compared=0, exit=1, exception=raised)
    assert (found.kind, found.layer) == ("invalid_program", "eager")
    assert "fails without the compiler: ValueError in cell 3 before anything" in found.summary


def test_a_script_that_compiled_nothing_shows_nothing() -> None:
    found = said(calls=0, compared=0)
    assert (found.kind, found.layer) == ("not_reproduced", "none")
    assert found.summary.startswith("Nothing was compiled")


def test_a_script_that_was_stopped_before_it_compiled_anything_cannot_be_judged() -> None:
    with pytest.raises(CannotJudgeError, match="had compiled nothing by then"):
        said(calls=0, compared=0, stopped=True, exit=None)
    raised = ended_by("ValueError")
    assert said(calls=0, stopped=True, exception=raised).kind == "invalid_program"


def test_calls_that_could_not_be_compared_cannot_be_judged() -> None:
    with pytest.raises(CannotJudgeError, match="none of the 2 compiled calls"):
        said(calls=2, compared=0)


REJECTED = raises("TypeError", "odd")["failure"]


def test_a_script_that_ends_where_eager_raises_too_is_invalid() -> None:
    found = said(exit=1, rejected=REJECTED)
    assert (found.kind, found.layer) == ("invalid_program", "eager")
    assert found.summary == "Eager fails as well: TypeError: odd."
    assert said(exit=0, rejected=REJECTED).kind == "not_reproduced"


def test_a_limit_of_the_compiler_is_no_excuse_for_a_script_that_eager_ends_too() -> None:
    limit = {**ended_by("Unsupported"), "failure": raises("Unsupported", "raised: odd")["failure"]}
    assert said(exit=1, exception=limit).kind == "unsupported"
    found = said(exit=1, exception=limit, rejected=REJECTED)
    assert found.summary == "Eager fails as well: TypeError: odd."


def test_rounding_is_no_excuse_for_a_script_that_eager_ends_too() -> None:
    rounded = both(WITHIN)
    ending = {"exit": 1, "rejected": REJECTED}
    raised = {
        **ended_by("TypeError", "step"),
        "failure": raises("TypeError", "run: odd")["failure"],
    }
    found = said(finding(MadeUp(rounded)), **ending, exception=raised)
    assert found.summary == "Eager fails as well: TypeError: odd."
    other = {**raised, "failure": raises("TypeError", "even")["failure"]}
    assert said(finding(MadeUp(rounded)), **ending, exception=other).kind == "rounding"
    silent = {"exit": 1, "rejected": raises("AssertionError", "")["failure"]}
    assert said(finding(MadeUp(rounded)), **silent, exception=other).kind == "rounding"


@pytest.mark.parametrize(
    ("facts", "summary"),
    [
        ({}, "What 1 compiled call returned agrees with eager."),
        ({"calls": 3, "compared": 3}, "What 3 compiled calls returned agrees with eager."),
        (
            {"calls": 3, "compared": 2},
            "What 2 of 3 compiled calls, those that were compared, returned agrees with eager.",
        ),
        (
            {"stopped": True, "exit": None},
            "What 1 compiled call returned until the script was stopped after its time limit"
            " (--timeout) agrees with eager.",
        ),
        (
            {"rejected": REJECTED},
            "What 1 compiled call returned agrees with eager;"
            " where compiling raised, eager raises as well.",
        ),
        (
            {"exit": 1, "exception": ended_by("A", "test_x")},
            "The script fails in test_x, but what 1 compiled call returned agrees with eager"
            " on the same inputs: what fails is not the result of a compiled call."
            " Of Python's state, the program's own attributes, containers, globals and closures"
            " that these calls can reach were compared; what is printed was not.",
        ),
        (
            {"exit": 1, "exports": True},
            "The script fails, but what 1 compiled call returned agrees with eager"
            " on the same inputs: what fails is not the result of a compiled call."
            " What an exported program leaves undone to Python's attributes, containers and globals"
            " was not compared: torch.export takes their values as they are when it exports.",
        ),
        (
            {"exit": 1},
            "The script fails, but what 1 compiled call returned agrees with eager"
            " on the same inputs: what fails is not the result of a compiled call."
            " Of Python's state, the program's own attributes, containers, globals and closures"
            " that these calls can reach were compared; what is printed was not.",
        ),
    ],
)
def test_where_all_agree_it_is_said_what_was_looked_at(facts: Any, summary: str) -> None:
    found = said(**facts)
    assert (found.kind, found.layer, found.summary) == ("not_reproduced", "none", summary)


def test_rungs_that_are_asked_for_are_measured_beside_the_judgment() -> None:
    call_session = MadeUp({AGAIN: WRONG})
    judge(recording(finding(call_session)), LIMIT, lambda _: None, ("mark_dynamic",))
    assert call_session.measured()[-1] == "mark_dynamic"
    failing = finding(MadeUp({}), "raised", failure=raises("InvalidCxxCompiler")["failure"])
    with pytest.raises(CannotJudgeError):
        judge(recording(failing), LIMIT, lambda _: None, ("mark_dynamic",))
    assert "mark_dynamic" in failing.call_session.measured()  # type: ignore[attr-defined]


def test_the_command_of_a_verdict_can_be_typed() -> None:
    options = Options(script=Path("my train.py"), args=("--epochs", "1"))
    words = shlex.split(write_command(options, ("eager mode", "custom", "fresh compile")))
    named = words[words.index("--rungs") + 1].split(",")
    assert named == ["eager mode", "fresh compile"] and set(named) <= set(RUNGS)
    assert words[-3:] == ["my train.py", "--epochs", "1"]


def test_a_limit_at_the_scripts_end_stands_before_rounding_and_behind_a_bug() -> None:
    line = "torch.compile with aot_autograd does not currently support double backward"
    failure = {"exception": "RuntimeError", "message": line, "first_line": line, "frames": []}
    ended = {"class": "RuntimeError", "location": "", "raised_in_torch": True, "failure": failure}
    rounded = finding(MadeUp({}), "suspicious", comparison=WITHIN)
    one = recording(rounded, exit=1, exception=ended)
    found = judge(one, LIMIT, lambda _: None)
    assert (found.kind, found.layer, found.is_bug) == ("unsupported", "aot_autograd", False)
    rungs = {"compiled": WRONG, "inductor": WRONG}
    wrong = finding(MadeUp(rungs), "differs", comparison=WRONG)
    both = recording(rounded, wrong, exit=1, exception=ended)
    assert judge(both, LIMIT, lambda _: None).kind == "wrong_result"

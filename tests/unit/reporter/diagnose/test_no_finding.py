"""A script that fails though every compiled call agrees with eager: what a run without the compiler
says.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.diagnose.eager_faults import (
    find_failing_child,
    is_refused_by_reducer,
    may_be_torch,
)
from reporter.diagnose.judge import judge
from reporter.diagnose.no_finding import (
    have_same_ending,
    judge_without_finding,
    may_fail_elsewhere,
    may_fail_uncompiled,
)
from reporter.recording.call_sessions import LastCall
from reporter.recording.findings import Recording
from tests.support.made_up_call import MadeUp, recording


def ended_by(name: str, line: str = "no", place: str = "train.py, line 7") -> Any:
    failure = {"exception": name, "message": line, "first_line": line}
    return {"class": name, "location": place, "raised_in_torch": False, "failure": failure}


def failed(**facts: Any) -> Recording:
    given = {"exit": 1, "exception": ended_by("AssertionError"), "seconds": 1.0, **facts}
    return recording(**given)


SPAWNED = """

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/site-packages/torch/multiprocessing/spawn.py", line 90, in _wrap
    fn(i, *args)
  File "train.py", line 4, in work
    loss.backward()
torch.distributed.DistBackendError: {}
frame #0: c10::Error
"""
ASSERTION = (
    'ready INTERNAL ASSERT FAILED at "../torch/csrc/distributed/c10d/reducer.cpp":12, please report'
    " a bug to PyTorch."
)


def ended_by_child(said: str) -> Recording:
    ending = ended_by("ProcessRaisedException", SPAWNED.format(said))
    ending["failure"]["first_line"] = "-- Process 1 terminated with the following error:"
    return failed(exception=ending, calls=0, compared=0)


def test_what_a_started_process_says_is_told_in_its_own_words() -> None:
    found = judge_without_finding(ended_by_child("the ranks do not agree."))
    assert found.kind == "invalid_program"
    assert found.summary.endswith(
        "; in the process that it started, DistBackendError: the ranks do not agree."
    )


def test_an_internal_assertion_of_a_started_process_is_signed_as_its_own() -> None:
    found = judge_without_finding(ended_by_child(ASSERTION))
    assert (found.kind, found.layer) == ("crash", "eager")
    assert found.failure is not None and found.failure["first_line"] == ASSERTION
    assert found.signature is not None and found.signature.exception == "DistBackendError"


def test_the_process_that_ended_the_script_is_known_by_its_number() -> None:
    raised = ended_by("ProcessRaisedException", SPAWNED.format("no"))["failure"]
    died = ended_by("ProcessExitedException", "process 0 terminated with signal SIGSEGV")["failure"]
    assert (find_failing_child(raised), find_failing_child(died)) == (1, 0)
    assert (
        find_failing_child(ended_by("RuntimeError", "process 0 terminated with")["failure"]) is None
    )
    assert may_be_torch(failed(exception={**ended_by("ProcessExitedException"), "failure": died}))


def test_a_deadly_signal_of_a_started_process_is_no_fault_of_the_program() -> None:
    def judge(name: str) -> str:
        ending = ended_by("ProcessExitedException", f"process 1 terminated with signal {name}")
        return judge_without_finding(failed(exception=ending, calls=0, compared=0)).kind

    assert judge("SIGTERM") == "invalid_program"
    with pytest.raises(CannotJudgeError, match="is ended by SIGSEGV"):
        judge("SIGSEGV")


def test_a_short_script_that_fails_beside_calls_that_agree_is_run_without_the_compiler() -> None:
    assert may_fail_uncompiled(failed())
    assert not may_fail_uncompiled(failed(compared=0))
    assert not may_fail_uncompiled(failed(exports=True))
    assert not may_fail_uncompiled(failed(seconds=1000.0))
    assert not may_fail_uncompiled(failed(exit=0))
    assert not may_fail_uncompiled(failed(exception=None))
    assert not may_fail_uncompiled(failed(exception=ended_by("FileNotFoundError")))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (ended_by("AssertionError", "3 of 17 differ"), True),
        (ended_by("AssertionError", "5 of 17 differ"), True),
        (ended_by("AssertionError", "something else"), False),
        (ended_by("RuntimeError", "3 of 17 differ"), False),
        (ended_by("AssertionError", "3 of 17 differ", "train.py, line 8"), False),
        (None, False),
    ],
)
def test_two_runs_end_alike_where_class_place_and_words_agree(other: Any, same: bool) -> None:
    assert have_same_ending(ended_by("AssertionError", "3 of 17 differ"), other) == same


def test_a_script_that_fails_without_the_compiler_too_is_invalid() -> None:
    found = judge_without_finding(failed(fails_uncompiled=True))
    assert (found.kind, found.layer, found.is_bug) == ("invalid_program", "eager", False)
    assert "in the same way without the compiler: AssertionError in train.py" in found.summary


def test_a_script_that_fails_with_the_compiler_alone_is_told_so() -> None:
    found = judge_without_finding(failed(fails_uncompiled=False))
    assert (found.kind, found.layer) == ("not_reproduced", "none")
    assert "With TORCHDYNAMO_DISABLE=1 the script does not fail" in found.summary
    assert "TORCHDYNAMO_DISABLE" not in judge_without_finding(failed()).summary


def test_a_script_that_waited_for_other_processes_is_run_without_the_compiler() -> None:
    alone = {"calls": 0, "compared": 0, "waited_for": 4.0}
    assert may_fail_elsewhere(failed(**alone))
    assert not may_fail_elsewhere(failed(**{**alone, "waited_for": 0.1}))
    assert not may_fail_elsewhere(failed(**{**alone, "calls": 1}))
    assert not may_fail_elsewhere(failed(**{**alone, "exit": 0, "exception": None}))
    outside = judge_without_finding(failed(**alone, fails_uncompiled=False))
    assert (outside.kind, outside.layer, outside.is_bug) == ("outside", "none", False)
    assert "another process that it starts, which was not looked at" in outside.summary
    found = judge_without_finding(failed(**alone, fails_uncompiled=True))
    assert found.kind == "invalid_program" and "fails without the compiler" in found.summary


@pytest.mark.parametrize(("made", "kind"), [(1, "nondeterministic"), (2, "not_reproduced")])
def test_random_numbers_explain_no_assertion_on_a_program_that_was_only_exported(
    made: int, kind: str
) -> None:
    last = LastCall(1, MadeUp({}, {"random": ["rrelu_with_noise"]}))
    found = judge_without_finding(failed(calls=2, compared=2, made=made, last_calls=[last]))
    assert found.kind == kind


def test_work_of_other_processes_is_said_to_be_unseen() -> None:
    idle = judge_without_finding(recording(calls=0, compared=0))
    busy = judge_without_finding(recording(calls=0, compared=0, waited_for=4.0))
    assert "other processes" not in idle.summary and "was not looked at" in busy.summary


@pytest.mark.parametrize("calls", [0, 2])
def test_a_signal_outside_of_every_call_that_can_be_watched_cannot_be_judged(calls: int) -> None:
    with pytest.raises(CannotJudgeError, match="SIGSEGV, in no call of a torch function"):
        judge_without_finding(recording(calls=calls, compared=calls, exit=-signal.SIGSEGV))


def test_a_function_that_a_signal_ends_twice_before_it_can_be_watched_is_torchs_fault() -> None:
    script = recording(calls=0, exit=-signal.SIGSEGV)
    script.further_runs.died_in = "torch.randn"
    found = judge_without_finding(script)
    assert (found.kind, found.layer, found.basis.reproduced) == ("process_death", "eager", (2, 2))
    assert found.summary == "torch.randn ends the process with SIGSEGV in eager mode."


def test_an_output_of_a_cuda_graph_that_was_overwritten_is_a_limit_of_such_graphs() -> None:
    line = (
        "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent"
        " run. To prevent overwriting, clone the tensor outside of torch.compile()"
    )
    found = judge_without_finding(failed(exception=ended_by("RuntimeError", line)))
    assert (found.kind, found.layer, found.is_bug) == ("unsupported", "inductor", False)


def test_calls_that_could_not_be_repeated_are_told_beside_those_that_agree() -> None:
    seen = failed(calls=3, compared=1, unchecked=2)
    assert "Not compared" not in judge_without_finding(seen).summary
    seen.counts.obstacles.add("the program did not make the call again: No module in /home/kim")
    told = judge_without_finding(seen).summary
    assert told.endswith("Not compared: 2 (the program did not make the call again).")


def test_inputs_that_onnx_runtime_refuses_are_the_scripts_own_error() -> None:
    line = "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input data type."
    recording = failed(exports=True, exception=ended_by("InvalidArgument", line))
    found = judge_without_finding(recording)
    assert (found.kind, found.layer) == ("invalid_program", "onnx")


@pytest.mark.parametrize("name", ["FileNotFoundError", "ModuleNotFoundError"])
def test_what_the_machine_lacks_is_no_result_of_a_compiled_call(name: str) -> None:
    found = judge_without_finding(failed(exception=ended_by(name)))
    assert (found.kind, found.layer) == ("invalid_program", "eager")
    assert f"outside of its compiled calls, with {name} in train.py" in found.summary


def test_what_kept_calls_from_being_repeated_is_named() -> None:
    seen = recording(calls=2, compared=0, exit=0)
    with pytest.raises(CannotJudgeError, match="none of the 2 .* cannot be copied, or eager takes"):
        judge_without_finding(seen)
    seen.counts.obstacles.add("NotImplementedError")
    with pytest.raises(CannotJudgeError, match=r"repeated in eager mode .NotImplementedError., so"):
        judge_without_finding(seen)


def test_what_exporting_leaves_without_values_is_no_limit_that_torch_states() -> None:
    said = "Could not guard on data-dependent expression zuf0 > 0.0001"
    raised = {**ended_by("GuardOnDataDependentSymNode", said), "raised_in_torch": True}
    assert judge(failed(exception=raised), 1.0, lambda _: None).kind == "unsupported"
    leaked = failed(exception=raised, leaks=1)
    found = judge(leaked, 1.0, lambda _: None)
    assert (found.kind, found.layer, found.is_bug) == ("wrong_metadata", "export", True)
    # an exception of the script's own has nothing to do with it
    own = failed(exception=ended_by("KeyError"), leaks=1)
    assert judge(own, 1.0, lambda _: None).kind == "not_reproduced"


def test_outputs_that_decomposing_adds_are_no_fault_where_the_script_minds_nothing_else() -> None:
    facts = {"exports": True, "calls": 2, "compared": 2, "added_outputs": 1}
    found = judge_without_finding(failed(**facts, right_without_added_outputs=True))
    assert (found.kind, found.layer, found.is_bug) == ("invalid_program", "export", False)
    assert "adds 1 output to the graph" in found.summary
    assert judge_without_finding(failed(**facts)).kind == "not_reproduced"
    unseen = failed(**facts, unchecked=1, right_without_added_outputs=True)
    assert judge_without_finding(unseen).kind == "not_reproduced"


CHANGED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This"
    " error indicates that your training graph has changed in this iteration, e.g., one parameter"
    " is used in first iteration, but then got unused in the second iteration."
)


@pytest.mark.parametrize(
    ("training", "kind"),
    [
        ({"steps": 6, "alike": True}, "crash"),
        ({"steps": 6, "alike": False}, "invalid_program"),
        ({"steps": 1, "alike": True}, "invalid_program"),
        (None, "invalid_program"),
    ],
)
def test_a_training_graph_that_does_not_change_is_not_to_be_refused_as_one_that_does(
    training: Any, kind: str
) -> None:
    script = ended_by_child(CHANGED)
    script.further_runs.training = training
    found = judge_without_finding(script)
    assert (found.kind, found.layer) == (kind, "eager")


def test_only_what_the_reducer_says_of_a_changed_graph_is_asked_again() -> None:
    assert is_refused_by_reducer(ended_by_child(CHANGED))
    assert is_refused_by_reducer(failed(exception=ended_by("RuntimeError", CHANGED)))
    assert not is_refused_by_reducer(ended_by_child(ASSERTION))
    assert not is_refused_by_reducer(failed(exception=None))
    slow = failed(exception=ended_by("RuntimeError", CHANGED), seconds=1000.0)
    assert not is_refused_by_reducer(slow)

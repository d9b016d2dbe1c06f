"""A script whose own assertion fails in eager mode: which measurement explains it, and when it is a
wrong operator.
"""

from __future__ import annotations

from typing import Any

import pytest

from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.eager_values import (
    explain_assertion,
    is_own_assertion,
    judge_sharded,
    may_be_eager,
    may_be_rounding,
)
from reporter.diagnose.no_finding import find_childs_assertion, judge_without_finding
from reporter.diagnose.rungs import AGAIN, EAGER
from reporter.recording.findings import Recording
from tests.support.made_up_call import EQUAL, WITHIN, WRONG, compared, recording, value, verdict

NOTHING: dict[str, Any] = {
    "wrong": [],
    "ill": [],
    "rounded": 0,
    "overflowed": 0,
    "undefined_casts": [],
    "uninitialized": [],
    "random": [],
    "sharded": [],
}
ILL = {"operator": "aten.solve", "function": 1, "error": 3.0, "largest": 1.0, "sensitivity": 2.0}
CAST = {"from": "torch.float32", "to": "torch.int32", "elements": 2, "of": 5}


def failed_assertion(
    facts: dict[str, Any] | None = None, line: str = "assert fine", **more: Any
) -> Recording:
    traceback = f'Traceback:\n  File "script.py", line 3, in <module>\n    {line}\nAssertionError'
    failure = {"exception": "AssertionError", "message": "", "first_line": ""}
    failure["traceback"] = traceback
    raised = {
        "class": "AssertionError",
        "location": "",
        "raised_in_torch": False,
        "failure": failure,
    }
    operators = {**NOTHING, **facts} if facts is not None else None
    given = {"seconds": 1.0, "calls": 0, "operators": operators, **more}
    return recording(exit=1, exception=raised, **given)


def explained(facts: dict[str, Any], line: str = "assert fine") -> Diagnosis | None:
    return explain_assertion(failed_assertion(facts, line))


def test_a_failed_assertion_of_a_short_script_is_looked_at() -> None:
    assert may_be_eager(failed_assertion())
    assert not may_be_eager(failed_assertion(seconds=600.0))
    assert not may_be_eager(failed_assertion(stopped=True))
    assert not may_be_eager(failed_assertion(calls=1))  # its compiled calls have been compared
    assert not may_be_eager(recording(exit=0))


SPAWNED = """

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "train.py", line 4, in work
    assert total == 4
{}
"""


def spawned(said: str, **more: Any) -> Recording:
    found = failed_assertion(None, **more)
    raised = found.script.exception
    assert raised is not None
    raised["class"] = raised["failure"]["exception"] = "ProcessRaisedException"
    raised["failure"]["message"] = SPAWNED.format(said)
    return found


def test_a_failed_assertion_of_a_process_that_a_script_starts_is_looked_at() -> None:
    assert find_childs_assertion(spawned("AssertionError: 5")) == 1
    assert find_childs_assertion(spawned("AssertionError")) == 1
    assert find_childs_assertion(spawned("RuntimeError: the ranks do not agree")) is None
    assert find_childs_assertion(spawned("AssertionError", seconds=600.0)) is None
    assert find_childs_assertion(spawned("AssertionError", calls=1)) is None
    assert find_childs_assertion(failed_assertion()) is None  # that of the script itself


def test_an_operator_on_dtensors_that_is_not_that_on_the_whole_tensors_is_a_bug() -> None:
    added = {"operator": "aten.add.Tensor", "function": 3, "error": 1.0, "largest": 2.5}
    placed = {**added, "placements": ['[Partial("sum")]', "[Shard(0)]"]}
    found = judge_without_finding(failed_assertion({"sharded": [placed]}))
    assert 'DTensors with [Partial("sum")] and [Shard(0)] is not' in found.summary
    found = judge_without_finding(failed_assertion({"sharded": [{**added, "placements": []}]}))
    assert (found.kind, found.layer, found.is_bug) == ("wrong_result", "eager", True)
    assert "aten.add.Tensor on DTensors" in found.summary and "off by 1," in found.summary
    assert judge_sharded(failed_assertion({})) is None


@pytest.mark.parametrize(
    ("facts", "kind", "said"),
    [
        ({"undefined_casts": [CAST]}, "undefined_value", "from torch.float32 to torch.int32"),
        ({"random": ["bernoulli_"]}, "nondeterministic", "bernoulli_"),
        ({"ill": [ILL]}, "ill_conditioned", "off float64 by 3, and moving its inputs"),
    ],
)
def test_what_was_measured_explains_the_assertion(
    facts: dict[str, Any], kind: str, said: str
) -> None:
    found = explained(facts)
    assert found is not None
    assert (found.kind, found.layer, found.is_bug) == (kind, "eager", False)
    assert said in found.summary


def test_memory_that_nothing_wrote_to_explains_an_assertion_that_passes_with_zeros() -> None:
    facts = {"uninitialized": ["empty"], "random": ["bernoulli_"]}
    run = failed_assertion(facts)
    run.further_runs.right_with_zeros = True
    found = explain_assertion(run)
    assert found is not None and found.kind == "uninitialized_memory"
    run.further_runs.right_with_zeros = False
    found = explain_assertion(run)
    assert found is not None and found.kind == "nondeterministic"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("assert torch.equal(a, b)", "rounding"),
        ("assert (a == b).all()", "rounding"),
        ("np.testing.assert_array_equal(a, b)", "rounding"),
        ("torch.testing.assert_close(a, b)", None),
        ("assert (a - b).abs().max() < 1e-3", None),
    ],
)
def test_rounding_explains_a_comparison_bit_by_bit_only(line: str, kind: str | None) -> None:
    found = explained({"rounded": 3}, line)
    assert (found.kind if found else None) == kind


def test_without_the_compiler_a_comparison_bit_by_bit_says_nothing_of_rounding() -> None:
    run = failed_assertion({"rounded": 3}, "assert torch.equal(compiled(x), f(x))")
    run.further_runs.fails_uncompiled = True
    assert explain_assertion(run) is None


def test_a_magnified_rounding_explains_what_float64_mends_where_the_script_compiles() -> None:
    run = failed_assertion({"ill": [ILL]}, "assert torch.allclose(f(batch), compiled(batch))")
    run.further_runs.fails_uncompiled = True
    assert may_be_rounding(run) and explain_assertion(run) is None
    run.further_runs.right_in_float64 = True
    found = explain_assertion(run)
    assert found is not None and found.kind == "ill_conditioned"


def test_an_assertion_that_passes_in_float64_is_one_about_rounding() -> None:
    run = failed_assertion({"rounded": 3}, "torch.testing.assert_close(a, b)")
    assert may_be_rounding(run)
    run.further_runs.right_in_float64 = True
    found = explain_assertion(run)
    assert found is not None and (found.kind, found.is_bug) == ("rounding", False)
    assert found.summary.startswith("3 results are rounded")
    run.further_runs.fails_uncompiled = True
    found = explain_assertion(run)
    assert found is not None and "in the same way without the compiler. 3 results" in found.summary


@pytest.mark.parametrize(
    "facts",
    [
        {"rounded": 0},
        {"rounded": 3, "overflowed": 1},  # float64 holds what a narrow dtype cannot
        {"rounded": 3, "ill": [ILL]},
        {"rounded": 3, "random": ["bernoulli_"]},
    ],
)
def test_what_is_no_rounding_or_is_explained_is_not_tried_in_float64(facts: dict[str, Any]) -> None:
    assert not may_be_rounding(failed_assertion(facts))
    assert not may_be_rounding(failed_assertion())


def test_an_assertion_of_a_process_that_the_script_starts_is_not_its_own() -> None:
    assert is_own_assertion(failed_assertion(calls=3))
    run = failed_assertion(calls=3)
    run.script.child = 0
    assert not is_own_assertion(run)


def test_an_assertion_that_nothing_was_measured_for_is_not_explained() -> None:
    assert explained({}) is None
    assert explain_assertion(failed_assertion()) is None


# -- the call that was found to be wrong, alone ----------------------------------------------------


def judged(against_float64: Any, again: Any = EQUAL) -> Diagnosis:
    """The verdict where eager, held against its run in float64 and against another one of its own,
    gives these comparisons.
    """
    return verdict({EAGER: against_float64, AGAIN: again}, options={"compiler": "eager"})[0]


def test_an_operator_that_float64_contradicts_is_a_wrong_result_in_eager_mode() -> None:
    found = judged(WRONG)
    assert (found.kind, found.layer, found.is_bug) == ("wrong_result", "eager", True)
    assert found.basis.reproduced == (2, 2)
    assert found.summary == (
        "An operator returns wrong values in eager mode (output 0: off float64 by 1 at most)."
    )


def test_what_an_operator_makes_nan_is_counted_beside_float64() -> None:
    found = judged(compared(value(nan_moved=True, nan=[0, 5], elements=72, mismatched=72)))
    assert found.summary == (
        "An operator returns wrong values in eager mode (output 0: 5 NaN of 72 elements, in"
        " float64 none)."
    )


@pytest.mark.parametrize("answer", [EQUAL, WITHIN])
def test_an_operator_that_float64_confirms_when_called_alone_is_no_bug(answer: Any) -> None:
    found = judged(answer)
    assert (found.kind, found.is_bug) == ("not_reproduced", False)


def test_an_operator_that_gives_something_else_each_time_is_nondeterministic() -> None:
    found = judged(WRONG, again=WRONG)
    assert (found.kind, found.layer) == ("nondeterministic", "eager")

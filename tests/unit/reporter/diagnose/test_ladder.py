"""The ladder asks the recorded call its questions, each once, and says what came of it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from reporter.core.kinds import RungOutcome
from reporter.diagnose import ladder
from reporter.diagnose.comparisons import describe, find_worst_value
from reporter.diagnose.ladder import Ladder, LadderRunner, MeasuredRung
from reporter.diagnose.measuring import climb
from reporter.diagnose.rungs import AGAIN, EAGER, EXACT, RUNGS
from reporter.recording.questions import CallQuestion
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
    value,
)


def runner(
    call_session: MadeUp, symptom: str = "differs", limit: float = LIMIT, **more: Any
) -> LadderRunner:
    return LadderRunner(finding(call_session, symptom, **more), limit, lambda _: None)


def test_the_basics_are_eager_twice_the_facts_and_float64() -> None:
    call_session = MadeUp({AGAIN: WITHIN}, {"random": True, "coarse": False})
    found = runner(call_session).measure_basics()
    assert call_session.measured() == [EAGER, AGAIN, "probe", EXACT]
    assert found.facts == {"random": True, "coarse": False}
    assert list(found.rungs) == [EAGER, AGAIN, EXACT]
    assert found[AGAIN].comparison == WITHIN
    assert [limit for _, limit in call_session.asked] == [LIMIT] * 5


def test_the_device_is_the_one_that_eager_computes_on() -> None:
    assert runner(MadeUp({}, {"cuda": True})).measure_basics().device == "cuda"
    assert runner(MadeUp({}, {"cuda": False})).measure_basics().device == "cpu"


def test_eager_that_raises_is_asked_again_but_not_in_float64_and_held_against_nothing() -> None:
    call_session = MadeUp({EAGER: raises()})
    runner(call_session).measure_basics()
    assert call_session.measured() == [EAGER, AGAIN, "probe"]
    assert not [ask for ask, _ in call_session.asked if ask["op"] == "compare"]


def test_a_second_run_that_raises_is_not_compared() -> None:
    call_session = MadeUp({AGAIN: raises()})
    assert runner(call_session).measure_basics()[AGAIN].outcome == "raises"
    assert not [ask for ask, _ in call_session.asked if ask["op"] == "compare"]


def test_each_rung_is_asked_for_as_the_table_says() -> None:
    call_session = MadeUp({})
    asking = runner(call_session, replay=True, grads="flows.pt")
    asking.measure_basics()
    for name in RUNGS:
        asking.measure(name)
    for name, way in RUNGS.items():
        asked = call_session.ask_of(name)["rung"]
        replay = way["how"] == "compiled" and way.get("replay", True)
        expected = {**way, "replay": replay, "grads": "flows.pt", "snapshot": f"rung-0-{name}.pt"}
        assert asked == expected


def test_earlier_calls_are_repeated_only_where_there_were_some() -> None:
    call_session = MadeUp({})
    runner(call_session).measure("inductor")
    assert call_session.ask_of("inductor")["rung"]["replay"] is False


def test_a_rung_is_measured_once() -> None:
    call_session, said = MadeUp({}), []
    asking = LadderRunner(finding(call_session), LIMIT, said.append)
    asking.measure_basics()
    assert asking.measure("aot_eager") is asking.measure("aot_eager")
    assert call_session.measured().count("aot_eager") == 1
    assert said == [AGAIN, "aot_eager"]


def test_rungs_that_were_started_ahead_are_not_started_again() -> None:
    call_session = MadeUp({})
    asking = runner(call_session)
    asking.measure_basics()
    asking.measure("eager")
    asking.start_ahead(("eager", "aot_eager"))
    asking.start_ahead(("aot_eager", "inductor"))
    assert call_session.measured()[-2:] == ["aot_eager", "inductor"]
    asking.measure("aot_eager")
    asking.measure("inductor")
    assert call_session.measured()[4:] == ["eager", "aot_eager", "inductor"]


@pytest.mark.parametrize(
    ("seconds", "symptom", "limit"),
    [
        (0.0, "raised", 100.0),
        (49.0, "raised", 100.0),
        (60.0, "raised", 120.0),
        (100.0, "raised", 200.0),
        (500.0, "raised", 200.0),
        (500.0, "hang", 100.0),
    ],
)
def test_a_rung_may_take_twice_as_long_as_the_scripts_own_call_that_ended(
    seconds: float, symptom: str, limit: float
) -> None:
    call_session = MadeUp({})
    asking = runner(call_session, symptom, seconds=seconds)
    asking.measure("inductor")
    assert asking.timeout == limit
    assert {asked for _, asked in call_session.asked} == {limit}


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "inductor"),
        ({"backend": "inductor"}, "inductor"),
        ({"backend": "eager"}, "eager"),
        ({"backend": "aot_eager"}, "aot_eager"),
        ({"backend": "aot_eager_decomp_partition"}, "aot_eager_decomp_partition"),
        ({"backend": "workshop"}, "workshop"),
        ({"backend": {"callable": "mine"}}, "custom"),
    ],
)
def test_the_users_backend_has_a_name(options: dict[str, Any], name: str) -> None:
    assert runner(MadeUp({}), options=options).find_own_rung() == name


def test_a_backend_that_is_no_rung_of_ours_is_compiled_as_the_user_did() -> None:
    call_session = MadeUp({})
    runner(call_session, options={"backend": "workshop"}).measure("workshop")
    asked = call_session.ask_of("workshop")["rung"]
    assert asked["how"] == "compiled" and "backend" not in asked


def test_inductor_is_inductor_whatever_the_user_chose() -> None:
    for options, backend in (({}, None), ({"backend": "aot_eager"}, "inductor")):
        call_session = MadeUp({})
        runner(call_session, options=options).measure("inductor")
        assert call_session.ask_of("inductor")["rung"].get("backend") == backend


@pytest.mark.parametrize(
    ("backend", "steps"),
    [
        ("eager", ["eager"]),
        ("aot_eager", ["eager", "aot_eager"]),
        ("inductor", ["eager", "aot_eager", "aot_eager_decomp_partition", "inductor"]),
        ("workshop", ["eager", "workshop"]),
    ],
)
def test_no_backend_above_the_users_own_is_asked(backend: str, steps: list[str]) -> None:
    asking = runner(MadeUp({}), options={"backend": backend})
    assert [*asking.list_backends()] == steps
    assert list(climb(asking)) == list(asking.ladder.rungs) == ["compiled", *steps]


def test_a_comparison_is_given_all_that_helps_to_judge() -> None:
    call_session = MadeUp({}, {"coarse": True, "ties": [1], "random": True})
    asking = runner(call_session)
    asking.measure_basics()
    asking.measure("inductor")
    assert call_session.ask_of("inductor", "compare") == {
        "op": "compare",
        "reference": f"rung-0-{EAGER}.pt",
        "actual": "rung-0-inductor.pt",
        "exact": f"rung-0-{EXACT}.pt",
        "origin": "torch.bfloat16",
        "ties": "rung-0-probe.pt",
        "random": True,
    }


def test_a_comparison_is_given_nothing_that_is_not_there() -> None:
    call_session = MadeUp({EXACT: raises()}, {"streams": ["numpy"]})
    asking = runner(call_session)
    asking.measure_basics()
    asking.measure("inductor")
    asked = call_session.ask_of("inductor", "compare")
    assert (asked["exact"], asked["origin"], asked["ties"]) == (None, None, None)
    assert asked["random"] is True
    plain = MadeUp({})
    asking = runner(plain)
    asking.measure_basics()
    assert plain.ask_of(AGAIN, "compare")["random"] is False


def test_the_scripts_own_call_is_judged_by_what_it_returned() -> None:
    call_session = MadeUp({"script": WRONG})
    asking = runner(call_session)
    asking.measure_basics()
    own = asking.judge_own_call()
    assert own is not None and own.outcome == "differs" and own.comparison == WRONG
    assert call_session.ask_of("script", "compare")["actual"] == "returned.pt"


def test_a_call_that_returned_nothing_or_has_no_eager_result_is_not_judged() -> None:
    asking = runner(MadeUp({}), returned=None)
    asking.measure_basics()
    assert asking.judge_own_call() is None
    asking = runner(MadeUp({EAGER: raises()}))
    asking.measure_basics()
    assert asking.judge_own_call() is None


def test_repetitions_take_turns_between_the_reused_and_a_fresh_compile() -> None:
    call_session = MadeUp({"repeat 2": WRONG, "repeat 3": raises()})
    asking = runner(call_session)
    asking.measure_basics()
    found = asking.repeat_call(4)
    names = [f"repeat {number}" for number in (1, 2, 3, 4)]
    assert [rung.name for rung in found] == names
    assert [rung.outcome for rung in found] == ["ok", "differs", "raises", "ok"]
    hows = [call_session.ask_of(name)["rung"]["how"] for name in names]
    assert hows == ["reused", "compiled", "reused", "compiled"]


def test_repetitions_of_a_backward_pass_are_compiled_afresh() -> None:
    call_session = MadeUp({})
    runner(call_session, "gradient", comparison=WRONG, grads="flows.pt").repeat_call(2)
    assert [call_session.ask_of(f"repeat {n}")["rung"]["how"] for n in (1, 2)] == ["compiled"] * 2


def test_what_a_rung_showed_is_kept() -> None:
    call_session = MadeUp(
        {
            "eager": raises("TypeError", "x" * 400, phase="backward"),
            "aot_eager": DEADLY,
            "inductor": STUCK,
            "fresh compile": {"outcome": "skipped", "detail": "not in this release"},
        }
    )
    asking = runner(call_session)
    asking.measure_basics()
    failed, died, stuck, skipped = (
        asking.measure(name) for name in ("eager", "aot_eager", "inductor", "fresh compile")
    )
    assert failed.detail == ("TypeError: " + "x" * 400)[:300]
    assert (failed.outcome, failed.run.phase, failed.run.seconds) == ("raises", "backward", 2.0)
    assert failed.failure is not None and failed.failure["exception"] == "TypeError"
    assert (died.outcome, died.death.signal, died.detail) == ("died", "SIGSEGV", "SIGSEGV")
    assert died.death.stack == "the log" and stuck.death.stack == STUCK["detail"]
    assert (skipped.outcome, skipped.death.stack, skipped.detail) == ("skipped", "", "")


def test_a_rung_that_ran_keeps_its_snapshot_and_seconds_when_it_is_judged() -> None:
    call_session = MadeUp({"eager": WRONG, "aot_eager": WITHIN})
    asking = runner(call_session)
    asking.measure_basics()
    wrong, within, equal = (asking.measure(name) for name in ("eager", "aot_eager", "inductor"))
    assert (wrong.outcome, within.outcome, equal.outcome) == ("differs", "ok", "ok")
    assert (wrong.agrees, within.agrees) == (False, True)
    assert wrong.run.snapshot == "rung-0-eager.pt" and wrong.run.seconds == 2.0
    assert wrong.detail == describe(WRONG) != ""
    assert wrong.comparison == WRONG and equal.comparison == EQUAL


def test_a_comparison_that_could_not_be_made_minds_nothing() -> None:
    class Mute(MadeUp):
        def request(self, question: CallQuestion[Any], timeout: float) -> Any:
            answer = super().request(question, timeout)
            return {"outcome": "died"} if question.message["op"] == "compare" else answer

    asking = runner(Mute({"inductor": WRONG}))
    asking.measure_basics()
    rung = asking.measure("inductor")
    assert (rung.outcome, rung.comparison, rung.detail) == ("ok", None, "")


def test_what_cannot_tell_its_seconds_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr(ladder.time, "monotonic", lambda: now[0])

    class Late(MadeUp):
        def submit(self, question: CallQuestion[Any], timeout: float) -> Future[Any]:
            assert question.message["op"] == "run"
            if question.message["rung"]["how"] != "compiled":
                return super().submit(question, timeout)
            self.future: Future[Any] = Future()
            return self.future

    call_session = Late({})
    asking = runner(call_session)
    asking.start_ahead(("inductor",))
    now[0] = 57.25
    call_session.future.set_result(DEADLY)
    now[0] = 90.0
    assert asking.measure("inductor").run.seconds == 7.25


def test_a_rung_that_was_not_measured_is_skipped() -> None:
    found = Ladder()["inductor"]
    assert (found.name, found.outcome, found.agrees) == ("inductor", "skipped", False)


@pytest.mark.parametrize(
    ("exact", "text"),
    [
        (
            MeasuredRung(EXACT, RungOutcome.OK),
            "eager in float64, dtypes named inside the program and autocast",
        ),
        (MeasuredRung(EXACT, RungOutcome.TIMEOUT), "since the program fails in float64 (timeout)"),
        (
            MeasuredRung(EXACT, RungOutcome.RAISES, failure={"exception": "TypeError"}),
            "in float64 (TypeError)",
        ),
        (
            MeasuredRung(EXACT, RungOutcome.RAISES, failure={"exception": "ShopError"}),
            "in float64 (an exception of its own)",
        ),
    ],
)
def test_the_reference_is_named_without_a_word_of_the_program(
    exact: MeasuredRung, text: str
) -> None:
    assert text in ladder.describe_reference(Ladder({EXACT: exact}))


STRIDE = {"where": "output 1", "property": "stride", "eager": "(2, 1)", "compiled": "(1, 2)"}
DTYPE = {"where": "output 0", "property": "dtype", "eager": "a", "compiled": "b"}


@pytest.mark.parametrize(
    ("comparison", "text"),
    [
        (None, ""),
        (EQUAL, ""),
        (
            compared(value(), metadata=(STRIDE, DTYPE)),
            "output 0: dtype a in eager, b compiled",
        ),
        (compared(value()), "output 0: max abs error 1"),
        (compared(value(max_abs_error=0.123456)), "output 0: max abs error 0.1235"),
        (compared(value(nan_moved=True)), "output 0: max abs error 1; 0 NaN in eager, 0 compiled"),
        (
            compared(value(nan_moved=True, nan=[1, 2])),
            "output 0: max abs error 1; 1 NaN in eager, 2 compiled",
        ),
        (
            compared(value(tied=True, mismatched=2, elements=3)),
            "output 0: max abs error 1; indices differ only where the values tie",
        ),
        (
            compared(value(mismatched=2, elements=3)),
            "output 0: max abs error 1; 2 of 3 elements",
        ),
        (
            compared(value(max_ulp=8, mismatched=2, elements=3)),
            "output 0: max abs error 1",
        ),
        (
            compared(value(max_ulp=8, error_vs_fp64=0.12345, eager_error_vs_fp64=1e-9)),
            "output 0: max abs error 1; off float64 by 0.123 (rms), eager by 1e-09",
        ),
        (
            compared(value(error_vs_fp64=0.12345, eager_error_vs_fp64=1e-9)),
            "output 0: max abs error 1",
        ),
        (
            compared(value("gradient 0", missing="eager")),
            "gradient 0: only the compiled backward pass gives one",
        ),
        (
            compared(value("gradient 0", missing="compiled")),
            "gradient 0: only eager backward pass gives one",
        ),
    ],
)
def test_the_worst_difference_in_a_few_words(comparison: Any, text: str) -> None:
    assert describe(comparison) == text


def test_a_difference_without_a_number_has_none() -> None:
    odd = value()
    del odd["max_abs_error"]
    assert describe(compared(odd)) == "output 0: max abs error nan"


def test_the_worst_value_is_the_largest_that_the_rule_minds() -> None:
    minded = value("output 1", max_abs_error=0.1), value("output 2", max_abs_error=0.3)
    large = value("output 0", same=True, max_abs_error=9.0)
    worst = find_worst_value(compared(large, *minded))
    assert worst is not None and worst["where"] == "output 2"
    only = compared(large, value("output 3", same=True, max_abs_error=None))
    worst = find_worst_value(only)
    assert worst is not None and worst["where"] == "output 0"
    assert find_worst_value(EQUAL) is None

"""Which backends are climbed, which layer is named, and how often a failure was seen."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from reporter.core.kinds import UNBOUND
from reporter.diagnose.ladder import LadderRunner, MeasuredRung
from reporter.diagnose.measuring import (
    LONG,
    climb,
    climb_from_the_top,
    climb_while_it_hangs,
    describe_frequency,
    find_failing_layer,
    is_never_repeated,
    make_diagnosis,
    measure_steadiness,
)
from reporter.recording.questions import CallQuestion
from tests.support.made_up_call import DEADLY, LIMIT, STUCK, MadeUp, finding, raises

OWN = {"backend": {"callable": "mine"}}
LAYER_OF = {"eager": "dynamo", "aot_eager": "aot_autograd", "inductor": "inductor"}
#: Seconds that a run takes where runs are to overlap.
OVERLAP = 0.02
ALL = ("compiled", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor")


def runner(call_session: MadeUp, symptom: str = "raised", **more: Any) -> LadderRunner:
    return LadderRunner(finding(call_session, symptom, **more), LIMIT, lambda _: None)


def failed(rung: MeasuredRung) -> bool:
    return rung.outcome == "raises"


def test_the_users_call_is_asked_first_and_then_each_backend() -> None:
    call_session = MadeUp({})
    assert climb(runner(call_session)) == ALL
    assert tuple(call_session.measured()) == ALL


def test_below_a_backend_of_the_users_own_only_dynamo_is_asked() -> None:
    call_session = MadeUp({})
    assert climb(runner(call_session, options=OWN)) == ("compiled", "eager", "custom")
    assert call_session.measured() == ["compiled", "eager", "custom"]


def test_all_backends_are_started_before_the_first_is_waited_for() -> None:
    started: list[int] = []
    call_session = MadeUp({})
    asking = LadderRunner(
        finding(call_session), LIMIT, lambda _: started.append(len(call_session.measured()))
    )
    climb(asking)
    assert started == [5] * 5


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"seconds": LONG}, ("compiled", "aot_eager_decomp_partition")),
        ({"seconds": LONG + 1, "grads": "f.pt"}, ("inductor", "aot_eager_decomp_partition")),
        ({"seconds": LONG - 0.1}, ALL),
        ({"seconds": LONG + 1, "replay": True}, ALL),
        ({"seconds": LONG + 1, "options": OWN}, ("compiled", "eager", "custom")),
    ],
)
def test_where_one_compile_takes_long_the_backends_are_climbed_from_the_top(
    more: dict[str, Any], names: tuple[str, ...]
) -> None:
    call_session = MadeUp({"compiled": raises(), "inductor": raises()})
    assert climb_from_the_top(runner(call_session, **more)) == names
    assert tuple(call_session.measured()) == names


def test_from_the_top_the_rest_is_climbed_where_the_fault_lies_lower() -> None:
    call_session = MadeUp({"compiled": raises(), "aot_eager_decomp_partition": raises()})
    asking = runner(call_session, seconds=LONG)
    assert climb_from_the_top(asking) == ALL
    assert tuple(asking.ladder.rungs) == ALL  # as they are read
    assert sorted(call_session.measured()) == sorted(ALL)


@pytest.mark.parametrize(
    ("bad", "options", "layer"),
    [
        (ALL, {}, "dynamo"),
        ((*ALL[2:], UNBOUND), {}, "aot_autograd"),
        (ALL[2:], {}, "decomposition"),
        (ALL[3:], {}, "decomposition"),
        (ALL[4:], {}, "inductor"),
        (("compiled",), {}, "inductor"),
        (("eager", "custom"), OWN, "dynamo"),
        (("custom",), OWN, "backend"),
        (("compiled",), OWN, "backend"),
        (("workshop",), {"backend": "workshop"}, "backend"),
        ((), {"backend": "workshop"}, "backend"),
    ],
)
def test_the_layer_is_the_lowest_backend_that_shows_it(
    bad: tuple[str, ...], options: dict[str, Any], layer: str
) -> None:
    asking = runner(MadeUp(dict.fromkeys(bad, raises())), options=options)
    climb(asking)
    assert find_failing_layer(asking, failed) == layer


@pytest.mark.parametrize(
    ("bad", "layer"),
    [
        (("torch.export", "torch.export decomposed", "AOTInductor"), "export"),
        (("torch.export decomposed", "AOTInductor", "torch.compile"), "decomposition"),
        (("AOTInductor", "torch.compile"), "inductor"),
        (("AOTInductor",), "aoti"),
    ],
)
def test_what_aotinductor_does_wrong_and_torch_compile_right_is_its_own(
    bad: tuple[str, ...], layer: str
) -> None:
    asking = runner(MadeUp(dict.fromkeys(bad, raises())), options={"compiler": "aoti"})
    climb(asking)
    assert find_failing_layer(asking, failed) == layer


@pytest.mark.parametrize(
    ("rungs", "more", "seen", "repeated"),
    [
        (("compiled", "inductor"), {}, (3, 3), 0),
        (("compiled",), {}, (2, 3), 0),
        (("inductor",), {}, (2, 3), 0),
        ((), {}, (1, 8), 5),
        (("repeat 2", "repeat 5"), {}, (3, 8), 5),
        # the reused call was made without the gradients that show it
        (("compiled",), {"grads": "f.pt"}, (1, 7), 5),
        (("inductor",), {"grads": "f.pt"}, (2, 2), 0),
    ],
)
def test_a_failure_is_counted_with_the_scripts_own_call(
    rungs: tuple[str, ...], more: dict[str, Any], seen: tuple[int, int], repeated: int
) -> None:
    call_session = MadeUp(dict.fromkeys(rungs, raises()))
    asking = runner(call_session, **more)
    climb(asking)
    assert measure_steadiness(asking, failed) == seen
    assert len([name for name in call_session.measured() if name.startswith("repeat")]) == repeated


def test_a_call_of_the_scripts_own_that_was_stopped_does_not_count() -> None:
    asking = runner(MadeUp({"compiled": raises(), "inductor": raises()}))
    climb(asking)
    asking.own_call_shows_it = False
    assert measure_steadiness(asking, failed) == (2, 2)


def test_a_rung_that_was_left_out_does_not_count() -> None:
    asking = runner(MadeUp({"compiled": raises()}))
    asking.measure("compiled")
    assert measure_steadiness(asking, failed) == (2, 2)
    with_gradients = runner(MadeUp({"compiled": raises()}), grads="f.pt")
    with_gradients.measure("compiled")
    assert measure_steadiness(with_gradients, failed) == (2, 2)


def test_what_only_the_scripts_own_call_has_shown_was_seen_nowhere_else() -> None:
    asking = runner(MadeUp({}))
    assert is_never_repeated(asking, (1, 8)) and not is_never_repeated(asking, (2, 8))
    asking.own_call_shows_it = False
    assert is_never_repeated(asking, (0, 7)) and not is_never_repeated(asking, (1, 7))


def test_what_is_always_there_needs_no_clause() -> None:
    assert (
        describe_frequency((3, 3)) == "" and describe_frequency((1, 3)) == "; seen in 1 of 3 runs"
    )


def test_a_verdict_has_its_finding_and_its_ladder() -> None:
    asking = runner(MadeUp({"eager": DEADLY}))
    climb(asking)
    found = make_diagnosis(asking, "crash", "dynamo", "Why.", ["a", "b"], reproduced=(1, 2))
    assert found.basis.finding is asking.finding and found.basis.ladder is asking.ladder
    assert (found.kind, found.layer, found.summary) == ("crash", "dynamo", "Why.")
    assert found.basis.cited == ("a", "b") and found.basis.reproduced == (1, 2)
    assert make_diagnosis(asking, "rng", "none", "Why.").basis.cited == ()


# -- calls that may never end ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lowest", "names"),
    [
        ("eager", ("compiled", "eager")),
        ("aot_eager", ("compiled", "eager", "aot_eager")),
        ("inductor", ALL),
    ],
)
def test_no_backend_above_the_lowest_that_hangs_is_asked(
    lowest: str, names: tuple[str, ...]
) -> None:
    above = ALL[ALL.index(lowest) :]
    call_session = MadeUp(dict.fromkeys(("compiled", *above), STUCK))
    asking = runner(call_session, "hang")
    assert climb_while_it_hangs(asking) == names == tuple(asking.ladder.rungs)
    assert tuple(call_session.measured()) == names
    stuck = asking.ladder["compiled"].outcome
    assert find_failing_layer(asking, lambda rung: rung.outcome == stuck) == LAYER_OF[lowest]
    assert measure_steadiness(asking, lambda rung: rung.outcome == stuck)[0] >= 2


class Slow(MadeUp):
    """Its runs end when the test says so, the one begun first before the others."""

    def __init__(self) -> None:
        super().__init__({})
        self.under_way: list[Future[Any]] = []
        self.most = 0

    def submit(self, question: CallQuestion[Any], timeout: float) -> Future[Any]:
        answer = self.request(question, timeout)
        ended: Future[Any] = Future()
        self.under_way.append(ended)
        self.most = max(self.most, len(self.under_way))

        def end() -> None:
            self.under_way.remove(ended)
            ended.set_result(answer)

        threading.Timer(OVERLAP, end).start()
        return ended


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_more_rungs_run_side_by_side_than_may(at_once: int) -> None:
    call_session = Slow()
    asking = LadderRunner(finding(call_session, "raised"), LIMIT, lambda _: None, at_once)
    assert climb(asking) == ALL
    assert asking.repeat_call(3) and len(call_session.measured()) == len(ALL) + 3
    assert call_session.most == at_once


def test_without_bound_decompositions_the_call_has_to_be_right_for_the_fault_to_be_theirs() -> None:
    for outcome, layer in (({"outcome": "ok"}, "decomposition"), (DEADLY, "aot_autograd")):
        asking = runner(MadeUp({**dict.fromkeys(ALL[2:], raises()), UNBOUND: outcome}))
        climb(asking)
        assert find_failing_layer(asking, failed) == layer

"""What a report can do without, and how it is cut short."""

from __future__ import annotations

import io
import signal
import threading
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.core.progress import PlainProgress
from reporter.pipeline.optional_measurements import OptionalMeasurements
from tests.support.waiting import PATIENCE


def _interrupted() -> str:
    raise KeyboardInterrupt


def test_all_is_measured_where_there_is_time() -> None:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()))
    assert extras.measure("culprit", "", lambda: "found", "none") == "found"
    assert extras.left_out == []


def test_ctrl_c_ends_this_measurement_and_all_that_come_after() -> None:
    talk = io.StringIO()
    extras = OptionalMeasurements(PlainProgress(talk))
    assert extras.measure("ablation", "", lambda: "rows", "none") == "rows"
    assert extras.measure("culprit", "", _interrupted, "none") == "none"
    assert extras.measure("neighbours", "", lambda: "rows", "none") == "none"
    assert extras.left_out == ["culprit", "neighbours"]
    assert "the report is written" in talk.getvalue()


def test_ctrl_c_between_two_measurements_ends_no_more_than_those_that_follow() -> None:
    talk = io.StringIO()
    extras = OptionalMeasurements(PlainProgress(talk))
    with extras.hold_interrupts():
        assert extras.measure("ablation", "", lambda: "rows", "none") == "rows"
        signal.raise_signal(signal.SIGINT)
        assert extras.measure("culprit", "", lambda: "found", "none") == "none"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert extras.left_out == ["culprit"] and "the report is written" in talk.getvalue()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_in_a_measurement_ends_it() -> None:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()))

    def ask() -> str:
        signal.raise_signal(signal.SIGINT)
        return "found"

    with extras.hold_interrupts():
        assert extras.measure("culprit", "", ask, "none") == "none"
    assert extras.left_out == ["culprit"]


def test_ctrl_c_keeps_what_was_waited_for_of_all_that_was_begun() -> None:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()), at_once=3)
    begun = [
        extras.begin("culprit", lambda: "found", "none"),
        extras.begin("neighbours", _interrupted, "none"),
        extras.begin("test", lambda: "shown", "none"),
    ]
    assert [each.wait() for each in begun] == ["found", "none", "none"]
    assert extras.left_out == ["neighbours", "test"]
    assert extras.begin("evidence", lambda: "found", "none").wait() == "none"
    extras.close()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CannotJudgeError("a worker does not start"), "a worker does not start"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RuntimeError("secret"), "an internal error (RuntimeError); the details are in "),
    ],
)
def test_an_error_costs_one_measurement(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise error

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    talk = io.StringIO()
    extras = OptionalMeasurements(PlainProgress(talk))
    assert extras.measure("culprit", "", fail, "none") == "none"
    assert extras.begin("test", fail, "none").wait() == "none"
    assert extras.measure("neighbours", "", lambda: "rows", "none") == "rows"
    assert extras.left_out == ["culprit", "test"]
    assert f"culprit: not measured, {said}" in talk.getvalue() and "secret" not in talk.getvalue()


def test_what_needs_a_failed_measurement_is_not_measured_and_each_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise RuntimeError("secret")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    talk = io.StringIO()
    extras = OptionalMeasurements(PlainProgress(talk), at_once=2)
    rows = extras.begin("ablation", fail, "none")
    culprit = extras.begin("culprit", rows.wait_beside, "none")
    assert [rows.wait(), culprit.wait(), rows.wait()] == ["none"] * 3
    assert extras.left_out == ["ablation", "culprit"]
    assert talk.getvalue().count("ablation: not measured, an internal error (RuntimeError)") == 1
    assert "culprit: not measured, what it needs was not measured" in talk.getvalue()
    assert len(list(tmp_path.rglob("*.log"))) == 1
    extras.close()


def test_ctrl_c_while_another_thread_waits_ends_no_more_than_what_comes_next() -> None:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()), at_once=2)
    started, release = threading.Event(), threading.Event()

    def find() -> bool:
        started.set()
        return rows.wait_beside()

    with extras.hold_interrupts():
        rows = extras.begin("ablation", release.wait, False)
        culprit = extras.begin("culprit", find, False)
        assert started.wait(PATIENCE)
        signal.raise_signal(signal.SIGINT)
        release.set()
        assert rows.wait() is culprit.wait() is False
    assert extras.left_out == ["ablation", "culprit"]
    extras.close()


def test_nothing_begins_after_the_end_of_the_budget() -> None:
    seconds = iter((1.0, 9.0, 11.0))
    extras = OptionalMeasurements(
        PlainProgress(io.StringIO()), end=10.0, clock=lambda: next(seconds)
    )
    for name in ("ablation", "culprit", "neighbours"):
        extras.measure(name, "", lambda: True, False)
    assert extras.left_out == ["neighbours"]


def test_a_quick_run_measures_nothing_and_says_what() -> None:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()), wanted=False)
    assert extras.measure("culprit", "", _interrupted, None) is None
    assert extras.left_out == ["culprit"]


def test_what_is_measured_in_two_steps_is_left_out_once() -> None:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()), wanted=False)
    for _ in range(2):
        extras.measure("evidence", "", _interrupted, None)
    assert extras.left_out == ["evidence"]

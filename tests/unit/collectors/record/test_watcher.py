"""Which of several threads' calls can be watched; no torch is needed to see it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from collectors.record import watcher
from collectors.record.watched_callable import CompiledCall
from collectors.record.watcher import CallWatcher


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds that a test can wait."""
    monkeypatch.setattr(watcher, "_PATIENCE", 0.5)
    monkeypatch.setattr(watcher, "_PATIENCE_AFTER", 0.1)


class Turns(CallWatcher):
    """Notes of each call whether it can be watched, in the order in which they begin."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[bool] = []

    def watch(self, call: CompiledCall) -> Any:
        with self.take_turn() as has_turn:
            self.noted.append(has_turn)
            return call.compiled()


def run_beside(turns: Turns, *functions: Any) -> None:
    """Makes a call of each function in a thread of its own, and waits for all."""

    def make(function: Any) -> None:
        call = CompiledCall(None, function, (), {})  # type: ignore[arg-type]
        turns.watch(call)

    threads = [threading.Thread(target=make, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert not any(thread.is_alive() for thread in threads)


def test_calls_that_wait_for_each_other_come_to_an_end_and_one_is_unwatched() -> None:
    turns = Turns()
    barrier = threading.Barrier(2)
    run_beside(turns, barrier.wait, barrier.wait)
    assert sorted(turns.noted) == [False, True] and turns.disturbed == 1


def test_calls_that_need_nothing_of_each_other_are_watched_one_after_another() -> None:
    turns = Turns()
    active: list[int] = []

    def work() -> None:
        active.append(1)
        assert len(active) == 1
        threading.Event().wait(0.05)
        active.pop()

    run_beside(turns, work, work, work)
    assert turns.noted == [True, True, True] and turns.disturbed == 0


def test_no_call_is_watched_beside_one_that_did_not_wait() -> None:
    turns = Turns()
    first_may_end, second_has_begun, second_may_end = (threading.Event() for _ in range(3))

    def begin_and_wait() -> None:
        second_has_begun.set()
        assert second_may_end.wait(10.0)

    def end_first_and_call_again() -> None:
        assert second_has_begun.wait(10.0)
        first_may_end.set()
        first.join(10.0)
        turns.watch(CompiledCall(None, lambda: None, (), {}))  # type: ignore[arg-type]
        second_may_end.set()

    def wait_for_its_end() -> None:
        assert first_may_end.wait(10.0)

    def make(function: Any) -> None:
        turns.watch(CompiledCall(None, function, (), {}))  # type: ignore[arg-type]

    first = threading.Thread(target=make, args=(wait_for_its_end,))
    second = threading.Thread(target=make, args=(begin_and_wait,))
    first.start()
    while not turns.noted:
        threading.Event().wait(0.01)
    second.start()
    end_first_and_call_again()
    second.join(10.0)
    assert turns.noted == [True, False, False]
    turns.watch(CompiledCall(None, lambda: None, (), {}))  # type: ignore[arg-type]
    assert turns.noted[-1]

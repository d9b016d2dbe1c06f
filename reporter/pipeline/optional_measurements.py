"""Measurements that a report can do without.

The verdict, the smallest program and its fresh processes are the report. Everything else only says
more of them and comes afterwards; Ctrl-C, `--quick` and `--budget` leave it out.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from reporter.core.errors import BugreportError, CannotJudgeError
from reporter.core.progress import Progress
from reporter.execution.error_log import write_error_log

T = TypeVar("T")


class BegunMeasurement(Generic[T]):
    """A measurement of which the answer is not there yet.

    Args:
        running: what measures in another thread; None where nothing does.
        settle: waits for it, and says why there is no answer.
    """

    def __init__(self, running: Future[T] | None, settle: Callable[[], T]) -> None:
        self._running = running
        self._settle = functools.cache(settle)

    def wait(self) -> T:
        """The answer, for the thread that writes the report; what stands for it where there is
        none.
        """
        return self._settle()

    def wait_beside(self) -> T:
        """The answer, for another measurement that needs it, in the thread of that one.

        Raises:
            CannotJudgeError: there is none.
        """
        if self._running is None or self._running.exception() is not None:
            raise CannotJudgeError("what it needs was not measured")
        return self._running.result()


class OptionalMeasurements:
    """Measures what is wanted, and keeps the names of what it left out.

    Args:
        wanted: whether anything is measured at all.
        end: the time by the `clock`, in seconds, after which nothing more begins.
        at_once: how many of those that are only begun run side by side.
    """

    def __init__(
        self,
        progress: Progress,
        wanted: bool = True,
        end: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        at_once: int = 1,
    ) -> None:
        self._left_out: list[str] = []
        self._is_waiting = False
        self._progress = progress
        self._wanted = wanted
        self._end = end
        self._clock = clock
        self._threads = ThreadPoolExecutor(max_workers=at_once)

    def measure(self, name: str, detail: str, ask: Callable[[], T], otherwise: T) -> T:
        """What `ask` returns; `otherwise` where there is no time for it or Ctrl-C ends it.

        Args:
            name: of the stage, as a report names what it left out.
        """
        if not self.may_begin():
            self._left_out.append(name)
            return otherwise
        self.enter_stage(name, detail)
        return self._wait(name, ask, otherwise)

    @contextlib.contextmanager
    def hold_interrupts(self) -> Iterator[None]:
        """Within it Ctrl-C ends what is waited for, and else nothing but what comes next; a second
        one ends the run.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # which no signal reaches
            return
        before = signal.signal(signal.SIGINT, self._note_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _note_interrupt(self, *_: object) -> None:
        if self._is_waiting or not self._wanted:
            raise KeyboardInterrupt
        self._stop()

    def enter_stage(self, name: str, detail: str) -> None:
        """Says what is begun next."""
        if self._wanted:
            self._progress.begin_stage(name, detail)

    def begin(self, name: str, ask: Callable[[], T], otherwise: T) -> BegunMeasurement[T]:
        """Begins a measurement of the stage that goes on, beside others.

        Args:
            name: as a report names what it left out.
            ask: measures, in another thread.
            otherwise: what comes back where there is no time for it or Ctrl-C ends it.

        Returns:
            What returns what `measure` would, once it is waited for.
        """
        if self.may_begin():
            running = self._threads.submit(ask)
            return BegunMeasurement(running, lambda: self._wait(name, running.result, otherwise))
        self._left_out.append(name)
        return BegunMeasurement(None, lambda: otherwise)

    def close(self) -> None:
        """Nothing more is begun; what runs ends with the workers that it asks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def left_out(self) -> list[str]:
        """What was not measured, each part once: one may be measured in several steps."""
        return list(dict.fromkeys(self._left_out))

    def may_begin(self) -> bool:
        """Whether there is time for one more measurement."""
        return self._wanted and (self._end is None or self._clock() < self._end)

    def _wait(self, name: str, ask: Callable[[], T], otherwise: T) -> T:
        """What `ask` returns; after Ctrl-C nothing more is waited for.

        No error is worth a verified repro: what raises one was not measured.

        Args:
            name: as a report names what it left out.
            ask: measures, or waits for what was begun.
            otherwise: what comes back after Ctrl-C or an error.
        """
        if self._wanted:
            try:
                self._is_waiting = True
                return ask()
            except KeyboardInterrupt:
                self._stop()
            except Exception as error:
                self._progress.note(f"{name}: not measured, {_explain(error)}")
            finally:
                self._is_waiting = False
        self._left_out.append(name)
        return otherwise

    def _stop(self) -> None:
        self._wanted = False
        self._progress.note(
            "interrupted: the report is written with what is known (Ctrl-C again: no report)"
        )


def _explain(error: Exception) -> str:
    """Why a measurement failed, with the file that has the traceback of what nobody foresaw."""
    if isinstance(error, BugreportError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    log = write_error_log(error)
    where = f"; the details are in {log}" if log is not None else ""
    return f"an internal error ({type(error).__name__}){where}"

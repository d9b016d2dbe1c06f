"""Where experiments on a recorded call are made: a fork server process, asked over its socket.

A `CallSession` answers requests about one call — run it under a rung, compare two runs, capture its
graph — and hides whether a fork of the recorded moment or a re-run of the whole script does the
work.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, cast

from collectors.protocol.calls import CallAnswer, LostAnswer, StopRequest
from collectors.protocol.words import CallOutcome
from reporter.core.errors import CannotJudgeError
from reporter.core.json_values import Json
from reporter.execution.usage import METER
from reporter.recording.questions import Answered, CallQuestion


def compute_longest_wait(timeout: float) -> float:
    """Seconds after which no answer comes any more: a process that waited for a processor gets its
    limit twice, and a minute is for the answer itself.
    """
    return 2 * timeout + 60


def refuse_lost(answer: Mapping[str, object]) -> None:
    """Refuses to go on without the process that holds the call.

    A capture without the answer would stay incomplete when the run is gone on with.

    Raises:
        CannotJudgeError: it was ended, by whomever.
    """
    if answer.get("lost") == LostAnswer.SERVER:
        raise CannotJudgeError(
            "the process that holds the failing call was ended while it was asked; run this again"
        )


class CallSession(Protocol):
    """Experiments on one recorded call; their files lie in `folder`."""

    folder: Path

    def prepare(self) -> None:
        """Begins what takes long before the first question, which is going to come."""

    def request(self, question: CallQuestion[Answered], timeout: float) -> Answered:
        """Asks one question and waits for its answer, at most `timeout` wall seconds."""

    def submit(self, question: CallQuestion[Answered], timeout: float) -> Future[Answered]:
        """The same without waiting."""

    def close(self) -> None:
        """Ends the processes behind it."""


class Connection:
    """One JSON-lines connection of the target, read by a thread of its own."""

    def __init__(self, sock: socket.socket, on_close: Callable[[], None]) -> None:
        self._socket = sock
        self._lock = threading.Lock()
        self._on_close = on_close

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends one message; a dead peer shows as the end of its stream, not here."""
        try:
            with self._lock:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass

    def read(self, handle: Callable[[Json], None]) -> None:
        """Calls `handle` with each message until the peer is gone."""
        buffer = b""
        try:
            while chunk := self._socket.recv(1 << 16):
                buffer += chunk
                while b"\n" in buffer:
                    line, buffer = buffer.split(b"\n", 1)
                    handle(json.loads(line))
        except (OSError, ValueError, RecursionError):
            pass
        finally:
            self._socket.close()
            self._on_close()


class ForkedCallSession:
    """Experiments in forks of a fork server process."""

    def __init__(self, call: int, folder: Path) -> None:
        self.call = call
        self.folder = folder
        self.pid: int | None = None
        self._connection: Connection | None = None
        self._ready = threading.Event()
        self._gone = False
        self._next = 0
        self._waiting: dict[int, Future[CallAnswer]] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Nothing: the fork server is there before the call is made."""

    def attach(self, connection: Connection, pid: int) -> None:
        """Called when the fork server of this call has connected."""
        self._connection = connection
        self.pid = pid
        self._ready.set()

    def take_answer(self, answer: CallAnswer) -> None:
        """Takes an answer of the fork server."""
        METER.add(answer.get("cpu", 0.0), answer.get("compilations", 0), processes=1)
        with self._lock:
            future = self._waiting.pop(answer["answer"], None)
        if future is not None:
            future.set_result(answer)

    def detach(self) -> None:
        """Called when the fork server is gone: everything still asked of it has died with it."""
        self._gone = True
        self._ready.set()
        with self._lock:
            waiting, self._waiting = list(self._waiting.values()), {}
        for future in waiting:
            future.set_result({"outcome": CallOutcome.DIED, "lost": LostAnswer.SERVER})

    def submit(self, question: CallQuestion[Answered], timeout: float) -> Future[Answered]:
        """Asks one question without waiting for its answer, but up to 30 s for the fork server.

        The answer is `died` if that has not connected by then or is gone.
        """
        future: Future[CallAnswer] = Future()
        self._ready.wait(timeout=30)
        with self._lock:
            number = self._next
            self._next += 1
            lost = self._gone or self._connection is None
            if not lost:
                self._waiting[number] = future
        if lost:
            future.set_result({"outcome": CallOutcome.DIED, "lost": LostAnswer.SERVER})
        else:
            assert self._connection is not None
            self._connection.send({**question.message, "id": number, "timeout": timeout})
        return cast("Future[Answered]", future)

    def request(self, question: CallQuestion[Answered], timeout: float) -> Answered:
        """Asks one question and waits for its answer.

        Raises:
            concurrent.futures.TimeoutError: there is none after the seconds of
                `compute_longest_wait`.
        """
        return self.submit(question, timeout).result(timeout=compute_longest_wait(timeout))

    def close(self) -> None:
        """Asks the fork server to stop, if it has connected; does not wait for that."""
        if self._connection is not None:
            stop: StopRequest = {"op": "stop"}
            self._connection.send(stop)

"""Experiments on a recorded call where nothing can be forked: the program is run again, up to that
call, for each of them.

Starting a program takes seconds, so the next run is started while one is at work and waits at the
call. A question that changes nothing (`compare`, the names of tensors) is answered by the run that
waits, which stays as it is, or by one that has made the call in eager mode and put everything back.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError  # its own before Python 3.11
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from collectors.protocol.call_requests import CallRequest
from collectors.protocol.calls import CallAnswer, LostAnswer
from collectors.protocol.failure import name_signal
from collectors.protocol.starting import (
    KEPT_FILE,
    MOST_OF_LOG,
    STOP_PATIENCE,
    STOP_SIGNAL,
    ProgramStart,
    RecorderSpec,
    RerunGreeting,
    RerunSpec,
)
from collectors.protocol.words import CallOutcome
from reporter.core.json_values import Json
from reporter.execution import launch
from reporter.execution.supervised_program import SupervisedProgram
from reporter.execution.usage import METER
from reporter.recording.call_session import Connection
from reporter.recording.questions import Answered, CallQuestion

#: Requests that leave the call as it was.
_READING = ("compare", "tensors", "environment", "subsystems")
_PATIENCE = 60.0

_S = TypeVar("_S")


@dataclass(frozen=True)
class RerunProgram:
    """How a program is started: interpreter, words after the collectors' own, folder, environment
    and `entry` (see `reporter.recording.entry_points`).
    """

    python: Path
    command: tuple[str, ...]
    cwd: Path
    variables: Mapping[str, str]
    entry: ProgramStart

    def start(
        self, spec: Path, facts: RecorderSpec | RerunSpec, **options: Any
    ) -> SupervisedProgram:
        """Starts it under a supervisor with `facts` for the collectors, written to `spec`;
        `options` go to SupervisedProgram.
        """
        spec.write_text(json.dumps({**self.entry, **facts}))
        METER.add(processes=1)
        return SupervisedProgram(
            [
                str(self.python),
                str(launch.COLLECTORS / "entry" / "bootstrap.py"),
                str(spec),
                *self.command,
            ],
            cwd=self.cwd,
            env=self.variables,
            stdin=launch.choose_standard_input(),
            **options,
        )


class _WaitingRun:
    """One run of the program which waits at the call for a request."""

    def __init__(
        self, program: RerunProgram, call: int, folder: Path, cache: Path, limit: float
    ) -> None:
        self.folder = folder
        self.name = f"{call}-{uuid.uuid4().hex[:8]}"
        self._limit = time.monotonic() + limit
        ours, theirs = socket.socketpair()
        facts: RerunSpec = {
            "descriptor": theirs.fileno(),
            "call": call,
            "folder": str(folder),
            "kept": str(folder / KEPT_FILE.format(call)),
            "cache": str(cache),
        }
        with open(self._name_file("rerun", "log"), "wb") as log:
            self._process = program.start(
                self._name_file("rerun", "json"),
                facts,
                pass_fds=(theirs.fileno(),),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        theirs.close()
        #: Its first message, and the answer to what it was asked last; the exit code where it is
        #: gone instead.
        self._greeting: Future[RerunGreeting | int] = Future()
        self._answer: Future[CallAnswer | int] = Future()
        self._connection = Connection(ours, lambda: None)
        threading.Thread(target=self._connection.read, args=(self._receive,), daemon=True).start()
        threading.Thread(target=self._await_end, daemon=True).start()

    def _name_file(self, kind: str, ending: str) -> Path:
        return self.folder / f"{kind}-{self.name}.{ending}"

    def _receive(self, message: Json) -> None:
        if message.get("role") == "rerun":
            _set_first(self._greeting, cast(RerunGreeting, message))
        else:
            _set_first(self._answer, cast(CallAnswer, message))

    def _await_end(self) -> None:
        """A process that is gone answers nothing any more; what it has sent is still read first."""
        code = self._process.wait()
        time.sleep(0.2)
        _set_first(self._greeting, code)
        _set_first(self._answer, code)

    def ask(self, message: CallRequest, timeout: float, stay: bool) -> CallAnswer:
        """The answer to one request.

        `outcome` is "error" where the program does not make the recorded call again.
        """
        try:
            greeting = self._greeting.result(timeout=max(1.0, self._limit - time.monotonic()))
        except FutureTimeoutError:
            self.end()
            return {
                "outcome": CallOutcome.ERROR,
                "detail": "the program took too long to make the call again",
            }
        if isinstance(greeting, int):
            log = self._read(self._name_file("rerun", "log"))
            return {
                "outcome": CallOutcome.ERROR,
                "detail": "the program did not make the call again\n" + log,
            }
        if "changed" in greeting:
            return {"outcome": CallOutcome.ERROR, "detail": greeting["changed"]}
        log_file = self._name_file(f"child-{uuid.uuid4().hex[:8]}", "log")
        answer: Future[CallAnswer | int] = Future()
        self._answer = answer
        code = self._process.poll()
        if code is not None:
            _set_first(answer, code)
        self._connection.send({**message, "stay": stay, "timeout": timeout, "log": str(log_file)})
        try:
            answered = answer.result(timeout=timeout)
        except FutureTimeoutError:
            self._stop(int(greeting["pid"]))
            return {"outcome": CallOutcome.TIMEOUT, "detail": self._read(log_file)}
        if isinstance(answered, int):
            return self._describe_death(answered, log_file)
        return answered

    def _stop(self, pid: int) -> None:
        """Ends it with its stacks in the log.

        `pid` is the program's own: what was started may have started another.
        """
        with contextlib.suppress(OSError):
            os.kill(pid, STOP_SIGNAL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STOP_PATIENCE)
        self.end()

    def _describe_death(self, code: int, log_file: Path) -> CallAnswer:
        log = self._read(log_file)
        name = name_signal(-code) if code < 0 else f"exit {code}"
        return {"outcome": CallOutcome.DIED, "signal": name, "detail": log}

    def _read(self, path: Path) -> str:
        try:
            return path.read_text(errors="replace")[-MOST_OF_LOG:]
        except OSError:
            return ""

    @property
    def is_there(self) -> bool:
        """Whether it can be asked something else."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kills it with everything it has started, and takes its files."""
        self._process.end()
        for ending in ("json", "log"):
            self._name_file("rerun", ending).unlink(missing_ok=True)


def _set_first(future: Future[_S], result: _S) -> None:
    """What comes first counts."""
    if not future.done():
        future.set_result(result)


class ProgramRuns:
    """What all call sessions of one recording share: the program, its cache, and how many of it may
    run side by side.

    Attributes:
        limit: seconds until a run has to be at the call.
        room: so many runs have room on the program's devices beside it; None: no limit.
    """

    def __init__(
        self,
        program: RerunProgram,
        folder: Path,
        cache: Path,
        jobs: int,
        limit: float,
    ) -> None:
        self.program = program
        self.folder = folder
        self.cache = cache
        self.limit = limit
        self.room: int | None = None
        self._jobs = jobs
        self._made: ThreadPoolExecutor | None = None
        self._call_sessions: list[RerunCallSession] = []

    def open_call_session(self, call: int) -> RerunCallSession:
        """The call session of one call, which starts nothing before it is asked."""
        self._call_sessions.append(RerunCallSession(self, call))
        return self._call_sessions[-1]

    def make_room(self) -> None:
        """Where memory is short, ends the runs of which nothing is asked now."""
        if not self.ahead:
            for call_session in self._call_sessions:
                call_session.free()

    def note_end(self) -> None:
        """The program itself leaves its devices."""
        if self.room is not None:
            self.room += 1

    def submit(
        self, call_session: RerunCallSession, message: CallRequest, timeout: float
    ) -> Future[CallAnswer]:
        """Has a call session answer in one of the threads.

        Args:
            call_session: one of `open_call_session`.
            timeout: seconds from when its run is at the call.
        """
        return self._threads.submit(call_session.answer, message, timeout)

    @property
    def ahead(self) -> bool:
        """Whether the next run is started before it is asked for, beside the one at work."""
        return self.room is None or self.room > 2

    @property
    def _threads(self) -> ThreadPoolExecutor:
        """Made for the first question, when the program has said what it holds of its devices."""
        if self._made is None:
            jobs = self._jobs if self.room is None else max(1, min(self._jobs, self.room - 2))
            self._made = ThreadPoolExecutor(jobs, thread_name_prefix="rerun")
        return self._made

    def start(self, call: int) -> _WaitingRun:
        """One more run, on its way to the call."""
        return _WaitingRun(self.program, call, self.folder, self.cache, self.limit)


class RerunCallSession:
    """Experiments in runs of the program that end at the call."""

    def __init__(self, runs: ProgramRuns, call: int) -> None:
        self.folder = runs.folder
        self._runs = runs
        self._call = call
        self._waiting: _WaitingRun | None = None
        #: It has made the call in eager mode, and holds it as it was.
        self._reader: _WaitingRun | None = None
        self._working: set[_WaitingRun] = set()
        self._closed = False
        self._lock = threading.RLock()

    def prepare(self) -> None:
        """Starts the run that answers the first question, if there is room for it."""
        with self._lock:
            if self._runs.ahead and not self._closed and self._waiting is None:
                self._waiting = self._runs.start(self._call)

    def submit(self, question: CallQuestion[Answered], timeout: float) -> Future[Answered]:
        """Asks one question in one of the threads, without waiting."""
        return cast("Future[Answered]", self._runs.submit(self, question.message, timeout))

    def request(self, question: CallQuestion[Answered], timeout: float) -> Answered:
        """Asks one question and waits until a run of the program has answered or ended."""
        return self.submit(question, timeout).result()

    def answer(self, message: CallRequest, timeout: float) -> CallAnswer:
        """Does one request in this thread."""
        reads = message["op"] in _READING
        if reads:
            answer = self._answer_by_reader(message, timeout)
            if answer is not None:
                return answer
        with self._lock:
            if self._closed:
                return {"outcome": CallOutcome.DIED, "lost": LostAnswer.CLOSED}
            run = self._choose_run()
            self._working.add(run)
            if not reads and self._runs.ahead:
                self._waiting = self._runs.start(self._call)
        stay = reads or _leaves_the_call(message)
        try:
            return run.ask(message, timeout + _PATIENCE if reads else timeout, stay)
        finally:
            with self._lock:
                self._working.discard(run)
                ended = self._put_away(run, reads) if stay and run.is_there else run
            if ended is not None:
                ended.end()

    def _choose_run(self) -> _WaitingRun:
        """The run that waits, or a new one, in whose favor the idle ones give up their memory
        where there is little.
        """
        run, self._waiting = self._waiting, None
        self._runs.make_room()
        return run or self._runs.start(self._call)

    def _put_away(self, run: _WaitingRun, reads: bool) -> _WaitingRun | None:
        """Keeps a run for later questions, unless this is closed; the one that is left over."""
        if self._closed:
            return run
        if reads and self._waiting is None:
            self._waiting = run
            return None
        left, self._reader = self._reader, run
        return left

    def _answer_by_reader(self, message: CallRequest, timeout: float) -> CallAnswer | None:
        """The answer of the run that reads; None where there is none, or it could not put back what
        the call had changed.
        """
        with self._lock:
            run, self._reader = self._reader, None
            if run is None:
                return None
            self._working.add(run)
        answer: CallAnswer | None = None
        try:
            if run.is_there:
                answer = run.ask(message, timeout + _PATIENCE, stay=True)
            return None if answer is None or answer["outcome"] == CallOutcome.DIED else answer
        finally:
            with self._lock:
                self._working.discard(run)
                ended = self._put_away(run, reads=False) if run.is_there else run
            if ended is not None:
                ended.end()

    def free(self) -> None:
        """Ends the run that waits and the one that reads."""
        with self._lock:
            runs = list(filter(None, (self._waiting, self._reader)))
            self._waiting = self._reader = None
        for run in runs:
            run.end()

    def close(self) -> None:
        """Ends the runs at work and the one that waits; further questions are answered `died`."""
        with self._lock:
            self._closed = True
            runs = [*self._working, *filter(None, (self._waiting, self._reader))]
            self._waiting = self._reader = None
        for run in runs:
            run.end()


def _leaves_the_call(message: CallRequest) -> bool:
    """Whether what the request changes of the call can be put back: eager mode runs as the program
    has it.
    """
    return (
        message["op"] == "run"
        and message["rung"].keys() <= {"how", "snapshot"}
        and message["rung"]["how"] == "eager"
    )

"""Runs candidates in the user's interpreter: one warm worker process, `jobs` candidates at a
time.

One warm parent is enough for any number of jobs, because it only forks: it imports torch and
compiles once, its memory is shared, and no candidate ever runs in it. All state belongs to one
manager thread, which reads answers, hands out requests and replaces the worker when it dies, hangs
or speaks nonsense. A candidate in flight at that moment is tried once more, alone, so that only
the guilty one is charged for the second death.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path

from collectors.protocol.candidates import WorkerMessage, WorkerRequest
from collectors.protocol.failure import read_tail
from collectors.protocol.variation import Overrides
from collectors.protocol.words import Isolation
from reporter.core.answer import Answer
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import Backend, CandidateOutcome
from reporter.execution.compiler_cache import WarmCache
from reporter.execution.launch import WORKER_MAIN, build_repro_variables, kill_group
from reporter.execution.quick_linker import choose_quick_linker
from reporter.execution.usage import METER

_START_LIMIT = 600.0
#: Seconds for a candidate before any has ended; lower where the failure looked for is that none
#: ends.
_PATIENCE = 300.0
#: Seconds for a program that makes a package, at least: whatever it computes, the C++ compiler
#: takes as long for what is around it, and longer than for a first candidate out of its cache.
_PACKAGES = "aoti_compile_and_package("
_LEAST_OF_PACKAGES = 60.0
#: How much longer than a candidate something else may take: the time limit is that of the repro's
#: own backend, which may be the quickest.
_AMPLE = 4.0
#: Seconds after a time limit in which the worker has to report it; a spawned one may still import
#: torch.
_GRACE: dict[Isolation, float] = {"fork": 20.0, "spawn": 180.0}
#: Without these a candidate's result could depend on the candidates before it.
_WORKER_ENV = {
    "PYTHONHASHSEED": "0",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO": "0",
}


@dataclass
class _Job:
    id: int
    text: str
    timeout: float
    overrides: Overrides
    future: Future[Answer]
    deaths: int = field(default=0, init=False)
    pid: int = field(default=0, init=False)
    deadline: float = field(default=0.0, init=False)


@dataclass
class _Process:
    popen: subprocess.Popen[bytes]
    requests: int
    answers: int
    log: Path
    deadline: float
    ready: bool = field(default=False, init=False)
    #: Seconds of processors that it and its candidates have told of.
    cpu: float = field(default=0.0, init=False)
    inbox: bytes = field(default=b"", init=False)
    outbox: bytearray = field(default_factory=bytearray, init=False)


@dataclass(frozen=True)
class _Message:
    """What the worker tells: that it is ready (without `id`), that a candidate has started as
    process `pid`, or its `answer`.
    """

    id: int | None = None
    pid: int = 0
    answer: Answer | None = None
    cpu: float = 0.0
    compilations: int = 0

    @classmethod
    def from_line(cls, line: bytes) -> _Message:
        """What a line of the worker says.

        Raises:
            ValueError, KeyError, TypeError: no worker tells that.
        """
        told: WorkerMessage = json.loads(line)
        if "ready" in told:
            return cls(cpu=float(told["ready"]["cpu"]))
        if "pid" in told:
            return cls(told["id"], int(told["pid"]))
        cpu, compilations = float(told["cpu"]), int(told.get("compilations", 0))
        return cls(told["id"], 0, Answer.from_json(told), cpu, compilations)


@dataclass(frozen=True)
class WorkerSettings:
    """How a pool's candidates run.

    `memory_limit` is in bytes per candidate beyond what the warm process has; `warm_backend` is
    compiled once at the start, with `warm_cache` as its compiler cache, which may outlive the
    pool and be shared with others (it saves ten seconds at the next start; no candidate uses it).
    Without a `warm_backend` the compiler is imported and compiles nothing.
    With `remembers` a question that has been answered before (the same bytes, the same overrides)
    is not asked again.
    """

    warm_backend: Backend | None = Backend.INDUCTOR
    memory_limit: int | None = None
    isolation: Isolation = "fork"
    warm_cache: Path | None = None
    remembers: bool = False


#: Endings that another run of the same candidate would have, too.
_LASTING = frozenset(CandidateOutcome) - {CandidateOutcome.TIMEOUT, CandidateOutcome.CANCELLED}


class WorkerPool:
    """`jobs` candidates at a time in a warm worker of `python`; a context manager.

    `env` is the candidates' environment (secrets are dropped from it); `workdir` holds caches
    and working folders. The worker starts with the first candidate, or with `start`.
    """

    def __init__(
        self,
        python: Path,
        jobs: int,
        env: Mapping[str, str],
        workdir: Path,
        settings: WorkerSettings = WorkerSettings(),
    ) -> None:
        self.python = python
        self.jobs = max(1, jobs)
        self.starts = 0
        self.first_seconds: float | None = None
        self.patience = _PATIENCE
        self._env = {**build_repro_variables(env), **_WORKER_ENV}
        if self.jobs > 1:  # spinning threads of one candidate would take the cores of another
            self._env.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._workdir = workdir.resolve()
        self._warm_cache = WarmCache(settings.warm_cache or self._workdir / "warm-cache")
        self._grace = _GRACE[settings.isolation]
        self._options = ["--isolation", settings.isolation]
        self._options += ["--warm-backend", settings.warm_backend or "import"]
        self._options += ["--memory", str(settings.memory_limit or 0)]
        self._remembers = settings.remembers
        self._answers: dict[str, Answer] = {}
        self._process: _Process | None = None
        self._queue: deque[_Job] = deque()
        self._flying: dict[int, _Job] = {}
        self._cancelled: deque[int] = deque()
        self._lock = threading.Lock()
        self._next_id = 0
        self._closing = False
        self._problem: CannotJudgeError | None = None
        self._wanted = False
        self._failed_starts = 0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._manage, name="candidate pool", daemon=True)
        self._thread.start()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def time_limit(self) -> float:
        """Seconds a candidate gets by default: three times the first one that ended and a margin,
        at least 20.
        """
        if self.first_seconds is None:
            return self.patience
        return max(20.0, 3.0 * self.first_seconds + 5.0)

    def limit_patience(self, seconds: float) -> None:
        """From here on, wait no longer than this for the first candidate that ends."""
        self.patience = min(self.patience, seconds)

    @property
    def ample_limit(self) -> float:
        """Seconds for what is no candidate of the search: a fresh process, another backend."""
        return _AMPLE * self.time_limit

    def choose_limit(self, text: str) -> float:
        """Seconds that a candidate of this text gets: `time_limit`, or more if it makes a
        package.
        """
        return max(self.time_limit, _LEAST_OF_PACKAGES if _PACKAGES in text else 0.0)

    def start(self) -> None:
        """Start warming up now, before the first candidate exists."""
        self._wanted = True
        self._wake()

    def submit(
        self, text: str, timeout: float | None = None, overrides: Overrides | None = None
    ) -> Future[Answer]:
        """Runs `text`; `Future.cancel` works before and while it runs, and then kills it.

        Args:
            text: the complete repro.
            timeout: in seconds from its start; None: that of `choose_limit`.
            overrides: what its own `torch.compile` is given in place of its arguments.

        Returns:
            A future that raises CannotJudgeError when `python` cannot run candidates at all.

        Raises:
            RuntimeError: the pool is closed.
        """
        future: Future[Answer] = Future()
        with self._lock:
            if self._problem is not None:
                future.set_exception(self._problem)
                return future
            if self._closing:
                raise RuntimeError("the pool is closed")
            known = self._answers.get(_write_question(text, overrides)) if self._remembers else None
            if known is not None:
                future.set_result(known)
                return future
            limit = self.choose_limit(text) if timeout is None else timeout
            job = _Job(self._next_id, text, limit, overrides or {}, future)
            self._next_id += 1
            self._queue.append(job)
        future.add_done_callback(lambda done: self._note_cancelled(done, job.id))
        self._wake()
        return future

    def close(self) -> None:
        """Kill everything that runs, as groups; open futures are cancelled."""
        with self._lock:
            self._closing = True
        self._wake()
        self._thread.join()
        self._selector.close()
        if self._wake_write >= 0:
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_write = -1

    def _note_cancelled(self, future: Future[Answer], number: int) -> None:
        if future.cancelled():
            self._cancelled.append(number)
            self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b".")
        except OSError:
            pass  # it is awake, or closed

    # Below: the manager thread, which alone touches the process and the jobs in flight.

    def _manage(self) -> None:
        problem: CannotJudgeError | None = None
        try:
            try:
                while not self._closing:
                    self._step()
            finally:
                self._stop()
        except Exception as error:  # whoever waits for a candidate has to hear of it
            told = f"{type(error).__name__}: {error}".rstrip(": ")
            problem = CannotJudgeError(f"candidates cannot be run any more: {told}")
            problem.__cause__ = error
        with self._lock:
            self._closing, self._problem = True, problem
            left = [*self._queue, *self._flying.values()]
        for job in left:
            if problem is None:
                job.future.cancel()
            else:
                _resolve(job.future, problem)

    def _step(self) -> None:
        for key, mask in self._selector.select(self._compute_patience()):
            if key.fd == self._wake_read:
                os.read(self._wake_read, 4096)
            elif self._process is None:
                continue
            elif mask & selectors.EVENT_WRITE:
                self._write()
            else:
                self._read()
        process, now = self._process, time.monotonic()
        if process is not None:
            late = any(now > job.deadline for job in self._flying.values())
            if process.ready and late:
                self._replace("it did not answer in time")
            elif not process.ready and now > process.deadline:
                self._replace("it did not start in time")
        self._dispatch()

    def _compute_patience(self) -> float | None:
        process = self._process
        if process is None:
            return None
        ends = (
            [job.deadline for job in self._flying.values()] if process.ready else [process.deadline]
        )
        return max(0.0, min(ends) - time.monotonic()) + 0.05 if ends else None

    def _dispatch(self) -> None:
        while self._cancelled:
            number = self._cancelled.popleft()
            if number in self._flying and self._process is not None:
                self._send({"cancel": number})
        with self._lock:
            while self._queue and self._queue[0].future.done():
                self._queue.popleft()
            wanted = bool(self._queue) or self._wanted
        if not wanted:
            return
        if self._process is None:
            self._start()
        while self._process is not None and self._process.ready and self._has_room():
            with self._lock:
                job = self._queue.popleft() if self._queue else None
            if job is None:
                return
            if job.future.done():
                continue
            self._flying[job.id] = job
            job.deadline = time.monotonic() + job.timeout + self._grace
            self._send(
                {
                    "id": job.id,
                    "text": job.text,
                    "timeout": job.timeout,
                    "overrides": job.overrides,
                }
            )

    def _has_room(self) -> bool:
        """A candidate that was in flight at a worker's death runs alone."""
        with self._lock:
            alone = bool(self._queue) and self._queue[0].deaths > 0
        alone = alone or any(job.deaths for job in self._flying.values())
        return len(self._flying) < (1 if alone else self.jobs)

    def _start(self) -> None:
        self._workdir.mkdir(parents=True, exist_ok=True)
        their_requests, requests = os.pipe()
        answers, their_answers = os.pipe()
        log = self._workdir / "worker.log"
        quick = choose_quick_linker(self._env, self._workdir / "linker")
        command = [str(self.python), str(WORKER_MAIN), "serve", "--workdir", str(self._workdir)]
        command += ["--requests", str(their_requests), "--answers", str(their_answers)]
        cache = self._warm_cache.claim()
        if cache is None:
            cache = self._warm_cache.borrow(self._workdir / f"warm-cache-{self.starts}")
        with log.open("wb") as output:
            try:
                popen = subprocess.Popen(
                    command + self._options,
                    env={**self._env, **quick, "TORCHINDUCTOR_CACHE_DIR": str(cache)},
                    cwd=self._workdir,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(their_requests, their_answers),
                    start_new_session=True,
                )
            except OSError as error:
                os.close(requests)
                os.close(answers)
                self._give_up(str(error))
                return
            finally:
                os.close(their_requests)
                os.close(their_answers)
        os.set_blocking(requests, False)
        self.starts += 1
        METER.add(processes=1)
        deadline = time.monotonic() + _START_LIMIT
        self._process = _Process(popen, requests, answers, log, deadline)
        self._selector.register(answers, selectors.EVENT_READ)

    def _send(self, message: WorkerRequest) -> None:
        assert self._process is not None
        self._process.outbox += json.dumps(message).encode() + b"\n"
        self._write()

    def _write(self) -> None:
        """Write what the pipe takes; never block, since the worker may itself wait to be read."""
        process = self._process
        assert process is not None
        try:
            while process.outbox:
                del process.outbox[: os.write(process.requests, process.outbox)]
        except BlockingIOError:
            if process.requests not in self._selector.get_map():
                self._selector.register(process.requests, selectors.EVENT_WRITE)
            return
        except OSError:
            process.outbox.clear()  # it died; the end of its answers says so too
        if process.requests in self._selector.get_map():
            self._selector.unregister(process.requests)

    def _read(self) -> None:
        process = self._process
        assert process is not None
        data = os.read(process.answers, 1 << 16)
        if not data:
            self._replace("it ended")
            return
        *lines, process.inbox = (process.inbox + data).split(b"\n")
        for line in lines:
            try:
                message = _Message.from_line(line)
                job = None if message.id is None else self._flying[message.id]
            except (ValueError, KeyError, TypeError) as error:
                self._replace(f"it told what no worker tells ({type(error).__name__}: {error})")
                return
            if job is None:
                self._take_warmth(process, message.cpu)
            elif message.answer is None:
                job.pid = message.pid
            else:
                self._take_answer(process, job, message.answer, message)

    def _take_warmth(self, process: _Process, cpu: float) -> None:
        process.ready = True
        process.cpu = cpu
        METER.add(cpu)
        self._warm_cache.release()
        self._wanted = False
        self._failed_starts = 0

    def _take_answer(self, process: _Process, job: _Job, answer: Answer, message: _Message) -> None:
        METER.add(message.cpu, message.compilations, processes=1)
        process.cpu += message.cpu
        del self._flying[job.id]
        if self.first_seconds is None and answer.outcome in _LASTING:
            self.first_seconds = answer.seconds
        if self._remembers and answer.outcome in _LASTING:
            with self._lock:
                self._answers[_write_question(job.text, job.overrides)] = answer
        _resolve(job.future, answer)

    def _replace(self, reason: str) -> None:
        """The worker is no longer to be trusted, for a reason that its own words follow: kill it,
        and give its candidates a second chance.
        """
        process = self._process
        assert process is not None
        reason = f"{reason}\n{read_tail(process.log)}"
        self._stop()
        if not process.ready:
            self._failed_starts += 1
            if self._failed_starts > 1:
                self._give_up(reason)
            return
        again = []
        for job in sorted(self._flying.values(), key=lambda job: job.id):
            job.deaths += 1
            if job.deaths > 1:
                detail = f"the worker died with it twice: {reason}"
                _resolve(job.future, Answer(CandidateOutcome.DIED, detail=detail))
            else:
                again.append(job)
        self._flying.clear()
        with self._lock:
            self._queue.extendleft(reversed(again))

    def _give_up(self, reason: str) -> None:
        problem = reason.rstrip().splitlines()[-1].strip()
        self._wanted = False
        with self._lock:
            left = list(self._queue)
            self._queue.clear()
        for job in left:
            sentence = f"{self.python} cannot run candidates: {problem}"
            _resolve(job.future, CannotJudgeError(sentence))

    def _stop(self) -> None:
        process = self._process
        self._process = None
        if process is None:
            return
        for descriptor in (process.requests, process.answers):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        os.close(process.requests)  # the worker kills its candidates when its requests end
        if process.ready:  # one that still starts has none, and would not look
            try:
                process.popen.wait(2.0)
            except subprocess.TimeoutExpired:
                pass
        kill_group(process.popen.pid)
        process.popen.wait()
        METER.add(-process.cpu)  # now the system counts it
        for job in self._flying.values():  # the candidates it left, where they did not end with it
            if job.pid:
                kill_group(job.pid)
        os.close(process.answers)


def _write_question(text: str, overrides: Overrides | None) -> str:
    """What tells one question from another: the bytes of the candidate, and what is overridden."""
    return json.dumps(overrides or {}, sort_keys=True) + text


def _resolve(future: Future[Answer], answer: Answer | CannotJudgeError) -> None:
    try:
        if isinstance(answer, Answer):
            future.set_result(answer)
        else:
            future.set_exception(answer)
    except InvalidStateError:
        pass  # cancelled in the meantime

"""A fork of the process as it was just before one compiled call, waiting to repeat that call.

The fork server is the recording: no pickling, every closure, global and random state in place. It
does no work of its own; each request is done by a child forked from it, so a crash, an abort or a
hang costs one child.

It must be forked from a *fresh* thread of the script's process: libgomp keeps its thread pool per
thread, and a child forked from a thread that has run a parallel region waits for pool threads that
no longer exist.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import resource
import select
import signal
import stat
import sys
import time
import traceback
from typing import Any, Dict, List, Optional, Union

from ..call import process_groups, rungs, stopping
from ..dynamo import counters
from ..dynamo.compiler_modules import import_compiler
from ..machine.files import write_json
from ..machine.processes import measure_time_in_queue
from ..protocol.call_requests import CallRequest
from ..protocol.calls import CallAnswer, LostAnswer, StopRequest
from ..protocol.failure import name_signal
from ..protocol.starting import MOST_OF_LOG, STOP_PATIENCE, ForkServerGreeting
from ..protocol.words import CallOutcome
from ..worker.job import kill_group
from . import requests
from .channel import Channel


def _leave_the_program() -> None:
    """Cuts a fork off from what the program still does with its streams and files, its signals and
    the machine's memory.

    A print of the repeated call must not end up in a log that the program writes, or in what pytest
    has captured; a signal handler that saves a checkpoint must not run twice; and when memory runs
    out it is the copy that has to go.
    """
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    _leave_descriptors(null)
    _LEFT.extend((sys.stdin, sys.stdout, sys.stderr))
    sys.stdin = open(0, closefd=False)
    sys.stdout, sys.stderr = (
        open(number, "w", buffering=1, errors="backslashreplace", closefd=False)
        for number in (1, 2)
    )
    for reference in list(logging._handlerList):  # type: ignore[attr-defined]
        handler = reference()
        # one without a stream, like that of torch's traces, takes its presence for leave to write
        if isinstance(handler, logging.StreamHandler) and handler.stream is not None:
            _LEFT.append(handler.stream)
            with contextlib.suppress(
                AttributeError
            ):  # logging's own last resort asks for sys.stderr
                # setStream would flush what the program has not written; a handler may close what
                # it has
                handler.stream = open(2, "w", buffering=1, errors="replace", closefd=False)
    for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def _leave_descriptors(null: int) -> None:
    """Has `null` take the place of what others wait for the end of, pipes and sockets, and of files
    that are only written. What can be read is opened anew: the program's own has locks, and a place
    that reading moves.
    """
    for name in os.listdir("/dev/fd"):
        number = int(name)
        with contextlib.suppress(OSError):  # the one that the folder was read by
            mode, flags = os.fstat(number).st_mode, fcntl.fcntl(number, fcntl.F_GETFL)
            is_file = stat.S_ISREG(mode)
            if number <= 2 or not (is_file or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
                continue
            is_inherited = os.get_inheritable(number)
            if not is_file or flags & os.O_ACCMODE == os.O_WRONLY:
                os.dup2(null, number, is_inherited)
                continue
            place = os.lseek(number, 0, os.SEEK_CUR)
            again = os.open("/dev/fd/" + name, flags & (os.O_ACCMODE | os.O_APPEND))
            os.lseek(again, place, os.SEEK_SET)
            os.dup2(again, number, is_inherited)
            os.close(again)


_LEFT: List[Any] = []  # closing them would write what they hold
#: Exit status of a fork that could not write its answer, as on a full disk; `EX_IOERR` of sysexits.
_UNWRITTEN = 74


class _Child:
    """A fork that answers request number `id` in the file `path`; `limit` is on the monotonic
    clock, `stopped` when it was told to end. `extra` are seconds by which the limit may move once.
    """

    def __init__(self, id: int, path: str, limit: float, extra: float) -> None:
        self.id = id
        self.path = path
        self.limit = limit
        self.extra = extra
        self.stopped: Optional[float] = None


class ForkServer:
    """Serves requests of the host about one recorded call until told to stop or the host is
    gone.
    """

    def __init__(
        self,
        call: rungs.RecordedCall,
        number: int,
        socket_path: str,
        folder: str,
        cache: str = "",
    ) -> None:
        self.call = call
        self.number = number
        self.socket_path = socket_path
        self.folder = folder
        self.cache = cache
        self.children: Dict[int, _Child] = {}

    def serve(self) -> None:
        """The loop."""
        _leave_the_program()
        if self.cache:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.cache
        self.call.adopt_settings()
        self.channel = Channel(self.socket_path)
        greeting: ForkServerGreeting = {
            "role": "fork_server",
            "call": self.number,
            "pid": os.getpid(),
        }
        self.channel.send(greeting)
        if self.call.uses_inductor:  # one that has compiled before has it all
            import_compiler(True)  # while the program makes the call
        while True:
            ready = self.channel.has_pending()
            if not ready:
                wait = 0.02 if self.children else 5.0
                ready = bool(select.select([self.channel.fileno()], [], [], wait)[0])
            if ready:
                request: Union[CallRequest, StopRequest, None] = self.channel.receive()
                if request is None or request["op"] == "stop":
                    self._kill_all()
                    return
                self._start(request)
            self._reap()

    def _start(self, request: CallRequest) -> None:
        path = os.path.join(self.folder, "answer-{}-{}.json".format(self.number, request["id"]))
        limit = time.monotonic() + request["timeout"]
        pid = os.fork()
        if pid == 0:
            status = _UNWRITTEN
            try:
                self._run_child(request, path)
                status = 0
            finally:
                os._exit(status)
        self.children[pid] = _Child(request["id"], path, limit, request["timeout"])

    def _run_child(self, request: CallRequest, path: str) -> None:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.channel.close()
        log = os.open(
            os.path.join(self.folder, "child-{}-{}.log".format(self.number, request["id"])),
            os.O_CREAT | os.O_WRONLY,
            0o600,
        )
        os.dup2(log, 1)
        os.dup2(log, 2)
        stopping.prepare()
        before = counters.count_compilations()
        try:
            process_groups.revive()
            answer = requests.perform(self.call, request)
        except BaseException:  # the call is the program's code
            answer = {"outcome": CallOutcome.ERROR, "detail": traceback.format_exc()[-4000:]}
        answer["compilations"] = counters.count_compilations() - before
        write_json(path, answer)

    def _reap(self) -> None:
        """Answers for the children that have ended; one that has reached its limit first says where
        it is.
        """
        for pid, child in list(self.children.items()):
            done, status, used = os.wait4(pid, os.WNOHANG)
            now = time.monotonic()
            if done and child.stopped is None:
                self._send(pid, self._build_answer(child, status), used)
            elif done or child.stopped is not None and now > child.stopped + STOP_PATIENCE:
                if not done:
                    kill_group(pid)
                    used = os.wait4(pid, 0)[2]
                # The compilers that it has started as well. Its own number may be another process's
                # by now.
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
                self._send(
                    pid, {"outcome": CallOutcome.TIMEOUT, "detail": self._read_log(child)}, used
                )
            elif child.stopped is None and now > child.limit:
                if child.extra:  # once more at most as long, for what it waited for a processor
                    child.limit += min(child.extra, measure_time_in_queue(pid))
                    child.extra = 0.0
                else:
                    child.stopped = now
                    stopping.stop(pid)

    def _send(self, pid: int, answer: CallAnswer, used: resource.struct_rusage) -> None:
        cpu = round(used.ru_utime + used.ru_stime, 3)
        self.channel.send({"answer": self.children.pop(pid).id, **answer, "cpu": cpu})

    def _build_answer(self, child: _Child, status: int) -> CallAnswer:
        """What a child that ended by itself has written, or how it died."""
        if os.WIFSIGNALED(status):
            name = name_signal(os.WTERMSIG(status))
            return {"outcome": CallOutcome.DIED, "signal": name, "detail": self._read_log(child)}
        answer = _load_answer(child.path)
        if answer is not None:
            return answer
        code, log = os.WEXITSTATUS(status), self._read_log(child)
        if code == _UNWRITTEN:
            return {"outcome": CallOutcome.DIED, "lost": LostAnswer.UNWRITTEN, "detail": log}
        return {"outcome": CallOutcome.DIED, "signal": "exit {}".format(code), "detail": log}

    def _read_log(self, child: _Child) -> str:
        path = os.path.join(self.folder, "child-{}-{}.log".format(self.number, child.id))
        try:
            with open(path, errors="replace") as log:
                return log.read()[-MOST_OF_LOG:]
        except OSError:
            return ""

    def _kill_all(self) -> None:
        for pid in self.children:
            kill_group(pid)


def _load_answer(path: str) -> Optional[CallAnswer]:
    """The JSON answer a child wrote, or None if it did not get that far."""
    try:
        with open(path) as source:
            loaded: Optional[CallAnswer] = json.load(source)
    except (OSError, ValueError):
        return None
    return loaded if isinstance(loaded, dict) else None

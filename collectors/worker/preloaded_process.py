"""A process that has imported torch and used nothing of it; what it forks is as a fresh interpreter
would be, seconds later.

It compiles nothing of a program and computes nothing: no thread, no cache and no generator of torch
has been used when a fork begins. Inductor's modules may be imported, and it may have been asked for
the vector units of this machine, which starts a dozen processes each time.

One line of JSON per request (`ForkRequest`) comes over a connection of its own; the fork's process
id and then its exit status go back. The end of standard input ends the process and everything it
runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import socket
import sys
import tempfile
import threading
import warnings

from ..dynamo.compiler_modules import import_compiler
from ..machine.processes import die_with_parent
from ..protocol.candidates import ForkRequest, ForkStarted, ForkStatus
from . import candidate
from .job import end_group, kill_group


def serve(path: str, inductor: bool) -> int:
    """Listens at the Unix socket `path` until standard input ends.

    `inductor`: what is forked compiles with it.
    """
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path + ".part")
    import_compiler(inductor)
    listening.listen()
    os.rename(path + ".part", path)
    running: set[int] = set()
    while True:
        ready = select.select([0, listening.fileno()], [], [])[0]
        if 0 in ready:
            for pid in tuple(running):
                kill_group(pid)
            return 0
        connection = listening.accept()[0]
        begun = threading.Event()
        # a fresh thread: a fork of it has no others, and becomes the main thread of its process
        threading.Thread(
            target=_answer, args=(connection, begun, running, listening), daemon=True
        ).start()
        begun.wait()  # nothing else may hold a lock while another thread forks


def _answer(
    connection: socket.socket,
    begun: threading.Event,
    running: set[int],
    listening: socket.socket,
) -> None:
    with connection:
        try:
            request: ForkRequest = json.loads(connection.makefile("r").readline())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                parent, pid = os.getpid(), os.fork()
            if pid == 0:
                connection.close()
                listening.close()
                _run(request, parent)
            running.add(pid)
        finally:
            begun.set()
        started: ForkStarted = {"pid": pid}
        connection.sendall(json.dumps(started).encode() + b"\n")
        end_group(pid)
        _, status, used = os.wait4(pid, 0)
        running.discard(pid)
        ended: ForkStatus = {
            "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status),
            "cpu": round(used.ru_utime + used.ru_stime, 3),
        }
        with contextlib.suppress(OSError):  # the host did not wait for it
            connection.sendall(json.dumps(ended).encode() + b"\n")


def _run(request: ForkRequest, parent: int) -> None:
    """The fork: never returns."""
    code = 70
    try:
        die_with_parent(parent)
        candidate.enter_cache(os.path.join(request["folder"], "cache"))
        candidate.isolate(request["folder"], None)
        tempfile.tempdir = None  # asked of TMPDIR again
        random.seed()  # as each interpreter does when it starts
        sys.modules["torch"].seed()
        code = candidate.run(request["candidate"], request["folder"])
    finally:
        sys.stdout.flush()
        os._exit(code)

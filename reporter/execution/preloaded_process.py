"""Fresh processes for a third of the processor time: forks of one that has imported torch and
used nothing of it.

A fresh process spends four seconds of processor time on imports before it runs the first line of a
repro. What is believed about a repro is never seen in forks alone: one run of three is really cold.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import BinaryIO

from collectors.protocol.candidates import CandidateRequest, ForkRequest, ForkStarted, ForkStatus
from reporter.execution.compiler_cache import prefill
from reporter.execution.launch import (
    WORKER_MAIN,
    build_repro_variables,
    end_session,
    kill_group,
)
from reporter.execution.usage import METER

#: Seconds for the import of torch, on the busiest machine.
_START_LIMIT = 600.0


class PreloadedProcess:
    """The process; it starts with the first question, or with `start`. A context manager.

    Args:
        warm_cache: the cache of a warm-up, whose checks of the toolchain are used.
    """

    def __init__(self, python: Path, warm_cache: Path) -> None:
        self._python = python
        self._warm_cache = warm_cache
        self._env = build_repro_variables(os.environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._told = 0.0
        self._is_closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> PreloadedProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, inductor: bool = False) -> None:
        """Starts it, and does not wait for it; once started, nothing happens.

        Args:
            inductor: whether what it forks compiles with Inductor, whose import takes seconds.

        Raises:
            RuntimeError: it is closed.
        """
        with self._lock:
            if self._is_closed:  # else a thread that is late would start one that nobody ends
                raise RuntimeError("the preloaded process is closed")
            if self._process is not None:
                return
            self._folder = tempfile.TemporaryDirectory(prefix="forks-", ignore_cleanup_errors=True)
            cache = Path(self._folder.name) / "cache"
            prefill(cache, self._warm_cache)
            METER.add(processes=1)
            self._process = subprocess.Popen(
                [
                    *(str(self._python), str(WORKER_MAIN), "preloaded"),
                    *("--socket", str(self._build_socket_path())),
                    *(("--inductor",) if inductor else ()),
                ],
                cwd=self._folder.name,
                env={**self._env, "TORCHINDUCTOR_CACHE_DIR": str(cache)},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def run(self, folder: Path, request: CandidateRequest) -> int | None:
        """Runs a candidate in a fork, which is killed where it takes longer than it may.

        Args:
            folder: with `run`, `out` and `cache`; the answer is in `out`.

        Returns:
            the exit code, or minus the number of a signal; None where it took too long.

        Raises:
            OSError: the process cannot fork, or has ended.
            RuntimeError: it is closed.
        """
        asked: ForkRequest = {"folder": str(folder), "candidate": request}
        with self._connect() as connection:
            connection.sendall(json.dumps(asked).encode() + b"\n")
            answers = connection.makefile("rb")
            begun: ForkStarted = json.loads(_read_line(answers))
            pid = int(begun["pid"])
            connection.settimeout(request["timeout"])
            try:
                ended: ForkStatus = json.loads(_read_line(answers))
            except TimeoutError:
                kill_group(pid)
                return None
        cpu = float(ended["cpu"])
        with self._lock:
            self._told += cpu
        METER.add(cpu, processes=1)
        return int(ended["exit"])

    def close(self) -> None:
        """Ends it and whatever it runs."""
        with self._lock:
            self._is_closed = True
            process, self._process = self._process, None
            folder, self._folder = self._folder, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2.0)
            end_session(process)
            METER.add(-self._told)  # now the system counts it
        if folder is not None:
            folder.cleanup()

    def _build_socket_path(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "socket"

    def _connect(self) -> socket.socket:
        self.start()
        process, place = self._process, self._build_socket_path()
        assert process is not None
        end = time.monotonic() + _START_LIMIT
        while not place.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise OSError("the preloaded process did not start")
            time.sleep(0.02)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(place))
        return connection


def _read_line(answers: BinaryIO) -> bytes:
    """The line of the next message; OSError where the process has ended instead."""
    text = answers.readline()
    if not text:
        raise OSError("the preloaded process has ended")
    return text

"""A program of the user's, started with a supervisor between it and the tool (see `supervisor`).

The program and its supervisor have a session each. The tool sees the program's own exit code, and
learns of a program that ends the process which started it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from collectors.protocol.failure import name_signal
from reporter.execution.launch import end_session, kill_group

_SUPERVISOR = Path(__file__).resolve().with_name("supervisor.py")


class SupervisedProgram:
    """One program under a supervisor; `poll`, `wait` and `returncode` are those of a Popen for the
    program itself.
    """

    def __init__(self, command: Sequence[str], pass_fds: Sequence[int] = (), **options: Any):
        """Starts `command`, whose first word is a path. `options` go to Popen.

        Raises:
            OSError: no process can be started.
        """
        self._ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            words = [sys.executable, "-IS", str(_SUPERVISOR), str(number), *command]
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                words, pass_fds=(*pass_fds, number), start_new_session=True, **options
            )
        self.stdout = self._process.stdout
        self.returncode: int | None = None
        #: The signal that ended the supervisor before the program; None if nothing did.
        self.lost: str | None = None
        self._pid: int | None = None
        self._lock = threading.Lock()
        self._said = b""

    def poll(self) -> int | None:
        """The program's exit code, negative for a signal; None while it runs."""
        if self._process.poll() is not None:
            self._conclude()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The same, waiting for its end.

        Raises:
            subprocess.TimeoutExpired: it has not ended by then.
        """
        self._process.wait(timeout=timeout)
        self._conclude()
        assert self.returncode is not None
        return self.returncode

    def end(self) -> None:
        """Kills the program with everything in its session and its supervisor, and waits."""
        self._read()
        if self._pid is not None and self.returncode is None:
            kill_group(self._pid)
            # it is the supervisor that learns how the program ended
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
        end_session(self._process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
            self._conclude()

    def _read(self) -> None:
        """Takes what the supervisor has said by now."""
        with self._lock:
            while self._ours.fileno() >= 0:
                try:
                    chunk = self._ours.recv(256, socket.MSG_DONTWAIT)
                except OSError:
                    break
                if not chunk:
                    self._ours.close()
                    break
                self._said += chunk
            for line in self._said.split(b"\n")[:-1]:
                word, _, number = line.partition(b" ")
                if word == b"started":
                    self._pid = int(number)

    def _conclude(self) -> None:
        """Notes how the program ended, once its supervisor is gone."""
        self._read()
        with self._lock:
            if self.returncode is not None:
                return
            last = self._said.split(b"\n")[-2:-1]
            if last and last[0].startswith(b"ended "):
                self.returncode = os.waitstatus_to_exitcode(int(last[0].split()[1]))
            else:
                code = self._process.returncode
                self.lost = name_signal(-code) if code < 0 else f"exit code {code}"
                if self._pid is not None:
                    kill_group(self._pid)
                self.returncode = code
            self._ours.close()

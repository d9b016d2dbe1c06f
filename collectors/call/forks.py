"""Forks of a process that has run torch: from a fresh thread, whose OpenMP pool is its own."""

from __future__ import annotations

import os
import threading
import traceback
from typing import Callable, List


def fork_from_fresh_thread(body: Callable[[], None]) -> int:
    """Forks in a new thread; the child runs `body` there and never returns.

    Returns the child's pid.
    """
    pids: List[int] = []
    problems: List[OSError] = []

    def fork_and_run() -> None:
        try:
            pid = os.fork()
        except OSError as error:  # no memory, or too many processes
            problems.append(error)
            return
        if pid == 0:
            status = 1
            try:
                body()
                status = 0
            except BaseException:  # the parent is told by the exit status
                traceback.print_exc()
            finally:
                os._exit(status)
        pids.append(pid)

    import warnings

    thread = threading.Thread(target=fork_and_run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thread.start()
        thread.join()
    if problems:
        raise problems[0]
    return pids[0]


class WaitingFork:
    """A fork of this moment that does something only if that is wanted later; it ends with this
    process.
    """

    def __init__(self, body: Callable[[], None]) -> None:
        reader, self.writer = os.pipe()

        def wait() -> None:
            os.close(self.writer)
            if os.read(reader, 1):
                body()

        self.pid = fork_from_fresh_thread(wait)
        os.close(reader)

    def run(self) -> bool:
        """Has it done; True if that succeeded."""
        os.write(self.writer, b"!")
        return os.waitpid(self.pid, 0)[1] == 0

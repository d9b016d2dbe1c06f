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

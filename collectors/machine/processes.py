"""What ends a process with its parent, and how long processes have waited for a processor.

A limit on what never ends is none on a busy machine. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
from typing import Iterator

#: PR_SET_PDEATHSIG of prctl(2).
_SET_PARENT_DEATH_SIGNAL = 1
_AFTER_NAME = re.compile(r"\) \S \d+ (\d+) ")


def die_with_parent(parent: int) -> None:
    """Asks the system to kill this process when the thread that started it ends (Linux only).

    Args:
        parent: the process that started this one; where it has ended already, so does this one.
    """
    try:
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        os._exit(1)


def measure_time_in_queue(group: int, proc: str = "/proc") -> float:
    """Seconds that the main threads of a process group's living processes were ready to run and did
    not; 0 where the system does not count them.

    Args:
        group: the number of the group, that of its leader.
    """
    return sum(_read_delays(group, proc)) / 1e9


def _read_delays(group: int, proc: str) -> Iterator[int]:
    """Nanoseconds (`Documentation/scheduler/sched-stats.rst` of Linux, the second field)."""
    with contextlib.suppress(OSError):
        for name in os.listdir(proc):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(os.path.join(proc, name, "stat")) as status:
                    found = _AFTER_NAME.search(status.read())
                if found is not None and int(found.group(1)) == group:
                    with open(os.path.join(proc, name, "schedstat")) as counts:
                        yield int(counts.read().split()[1])

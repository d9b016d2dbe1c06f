"""How long processes have waited for a processor: a limit on what never ends is none on a busy
machine. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import Iterator

_AFTER_NAME = re.compile(r"\) \S \d+ (\d+) ")


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

"""How much a tree of processes takes right now, read from /proc: the limits that the kernel would
keep per user, not per sandbox.

In a process namespace of its own no process can leave the tree: orphans become children of the
namespace's first process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
#: Below this much available memory the machine itself suffers, whoever took it.
FLOOR = 0.03


@dataclass(frozen=True)
class Usage:
    """`tasks`: processes and their threads; `memory`: private bytes, pages shared after a fork
    counted in each process.
    """

    tasks: int
    memory: int
    pids: tuple[int, ...]


def measure_usage(root: int) -> Usage:
    """What `root` and everything it started take; zeros if it is gone."""
    children: dict[int, list[int]] = {}
    threads: dict[int, int] = {}
    for process in _list_processes():
        children.setdefault(process.parent, []).append(process.pid)
        threads[process.pid] = process.threads
    tree, left = [], [root] if root in threads else []
    while left:
        pid = left.pop()
        tree.append(pid)
        left += children.get(pid, ())
    return Usage(sum(threads[pid] for pid in tree), sum(map(_measure_private, tree)), tuple(tree))


def measure_proportional_memory(pids: tuple[int, ...]) -> int:
    """Memory in bytes with shared pages counted once; slower, so only asked when `Usage.memory` is
    over the limit.
    """
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                total += next(
                    int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")
                )
        except (OSError, StopIteration, ValueError):
            total += _measure_private(pid)
    return total


def count_tasks(user: int) -> int:
    """Processes and threads that a user has on this machine."""
    count = 0
    for process in _list_processes():
        try:
            is_theirs = os.stat(f"/proc/{process.pid}").st_uid == user
            count += process.threads if is_theirs else 0
        except OSError:
            continue
    return count


def is_machine_full() -> bool:
    """Whether the machine has almost no memory left."""
    found = {}
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                name, _, rest = line.partition(":")
                if name in ("MemTotal", "MemAvailable"):
                    found[name] = int(rest.split()[0])
    except (OSError, ValueError):
        return False
    return len(found) == 2 and found["MemAvailable"] < FLOOR * found["MemTotal"]


def is_disk_full(pid: int, folder: str) -> bool:
    """Whether the file system of `folder`, as the process sees it, has no room left."""
    try:
        state = os.statvfs(f"/proc/{pid}/root{folder}")
    except OSError:
        return False
    return state.f_blocks > 0 and state.f_bavail * 100 < state.f_blocks


class _Process(NamedTuple):
    """One process: its number, its parent's, and how many threads it has."""

    pid: int
    parent: int
    threads: int


def _list_processes() -> Iterator[_Process]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            yield _Process(int(name), int(fields[1]), int(fields[17]))


def _measure_private(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0
    return max(0, resident - shared) * _PAGE

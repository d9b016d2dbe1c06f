"""How a process ended and what ends it, and files that outlive it whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
from typing import Callable, Iterator

#: PR_SET_PDEATHSIG of prctl(2).
_SET_PARENT_DEATH_SIGNAL = 1


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


@contextlib.contextmanager
def write_whole(path: str) -> Iterator[str]:
    """The path to write to; what is there at the end becomes `path`, unless something is raised."""
    yield path + ".part"
    os.replace(path + ".part", path)


def write_json(path: str, value: object) -> None:
    """Writes a value as JSON, whole or not at all: any moment may be this process's last."""
    with write_whole(path) as part, open(part, "w", encoding="utf-8") as file:
        json.dump(value, file)


@contextlib.contextmanager
def append_lines(path: str) -> Iterator[Callable[[object], None]]:
    """Adds values to a file as JSON lines, each there at once: any moment may be this process's
    last.
    """
    with open(path, "a", encoding="utf-8") as file:

        def tell(line: object) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        yield tell

"""One command at a time, with a limit, the memory of everything it starts, and nothing left behind.

What a command starts may leave its process group (compile workers do), so its descendants are noted
while it runs: they are what is measured, and what is ended with it.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD = 2.0


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code (None: at the limit), wall seconds, outputs, limit, and
    what all its processes used.

    `memory` is a peak in MiB; `cpu` counts the seconds of all cores, and no orphans.
    """

    code: int | None
    seconds: float
    stdout: str
    stderr: str
    limit: float
    memory: int
    cpu: float

    @property
    def output(self) -> str:
        """All that it printed."""
        return self.stdout + self.stderr


class Family:
    """The descendants of a process, followed in a thread until `end`."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._members: dict[int, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        self.peak = 0

    def end(self) -> None:
        """End what is still there."""
        self._over.set()
        self._thread.join()
        self._note()
        for pid, started in self._members.items():
            if read_stat(pid)[1] == started:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def _follow(self) -> None:
        while not self._over.wait(PERIOD):
            self._note()
            self.peak = max(self.peak, sum(read_memory(pid) for pid in self._members))

    def _note(self) -> None:
        """Add children of members, which may be orphans by now, and drop those that are gone."""
        found = {
            int(entry.name): read_stat(int(entry.name)) for entry in Path("/proc").glob("[0-9]*")
        }
        known = {
            pid: start
            for pid, start in self._members.items()
            if found.get(pid, (0, ""))[1] == start
        }
        known |= {self._root: found[self._root][1]} if self._root in found else {}
        while more := {
            p: s for p, (parent, s) in found.items() if parent in known and p not in known
        }:
            known |= more
        self._members = known


def run(
    command: Sequence[str | Path], folder: Path, limit: float, variables: Mapping[str, str]
) -> Ran:
    """Run it in `folder` for at most `limit` seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    started, before = time.monotonic(), _read_cpu()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        family = Family(process.pid)
        code: int | None = None
        try:
            stdout, stderr = process.communicate(timeout=limit)
            code = process.returncode
        except subprocess.TimeoutExpired:
            stdout = stderr = ""
        finally:
            seconds = time.monotonic() - started
            family.end()
        if code is None:
            stdout, stderr = process.communicate()
    return Ran(code, seconds, stdout, stderr, limit, family.peak, _read_cpu() - before)


def _read_cpu() -> float:
    """CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_stat(pid: int) -> tuple[int, str]:
    """Parent and start time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return 0, ""
    return int(fields[1]), fields[19]


def read_memory(pid: int) -> int:
    """MiB, where a page that several processes share counts once in all."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) // 1024

"""What a run uses: processor time, processes, and frames that Dynamo compiled.

The system counts what this process and the ones that it has started and waited for have used.
Candidates and repetitions of a call are started by others; their answers say what they took.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reporter.core.progress import Progress
from reporter.report.sections.stages import StageRow


@dataclass(frozen=True)
class StageUsage:
    """`seconds` of the wall clock, `cpu` seconds of all processors together, and how many frames
    were compiled in how many processes.
    """

    seconds: float = 0.0
    cpu: float = 0.0
    compilations: int = 0
    processes: int = 0

    def __add__(self, other: StageUsage) -> StageUsage:
        return StageUsage(
            self.seconds + other.seconds,
            self.cpu + other.cpu,
            self.compilations + other.compilations,
            self.processes + other.processes,
        )

    def __sub__(self, other: StageUsage) -> StageUsage:
        return self + StageUsage(-other.seconds, -other.cpu, -other.compilations, -other.processes)


def render_usage(rows: Mapping[str, StageRow]) -> list[str]:
    """What each stage used and all of them together, as the lines of a table."""
    lines = [f"{'stage':<12} {'wall':>8} {'cpu':>8} {'compiled':>9} {'processes':>10}"]
    for name, row in {**rows, "all": _sum(rows)}.items():
        cpu, compiled, processes = row.cpu or 0.0, row.compilations or 0, row.processes or 0
        lines.append(f"{name:<12} {row.wall:>6.1f} s {cpu:>6.1f} s {compiled:>9} {processes:>10}")
    return lines


def _sum(rows: Mapping[str, StageRow]) -> StageRow:
    return StageRow(
        wall=sum(row.wall for row in rows.values()),
        cpu=sum(row.cpu or 0.0 for row in rows.values()),
        compilations=sum(row.compilations or 0 for row in rows.values()),
        processes=sum(row.processes or 0 for row in rows.values()),
    )


class Meter:
    """Counts what other processes say; threads may share it."""

    def __init__(self) -> None:
        self._told = StageUsage()
        self._lock = threading.Lock()

    def add(self, cpu: float = 0.0, compilations: int = 0, processes: int = 0) -> None:
        """Adds what the system does not count for this process, or, below 0, takes off what it
        counts a second time.

        Args:
            cpu: seconds of processor time.
            compilations: frames that Dynamo compiled.
            processes: how many were started.
        """
        with self._lock:
            self._told += StageUsage(0.0, cpu, compilations, processes)

    def read(self) -> StageUsage:
        """All so far; the differences of two readings count."""
        with self._lock:
            told = self._told
        system = sum(
            seconds
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
            for seconds in resource.getrusage(who)[:2]
        )
        return told + StageUsage(time.monotonic(), system)


#: There is one for this process, as the system has one.
METER = Meter()


class MeteredProgress:
    """A display that also keeps what each stage used, without a rest between them."""

    def __init__(self, progress: Progress, read: Callable[[], StageUsage] = METER.read) -> None:
        self._progress = progress
        self._read = read
        self._name = "start"
        self._since = read()
        self._stages: dict[str, StageUsage] = {}

    def collect_rows(self) -> dict[str, StageRow]:
        """What each stage has used so far, in the order in which they began."""
        self._charge_stage()
        return {
            name: StageRow(
                wall=round(used.seconds, 2),
                cpu=round(used.cpu, 2),
                compilations=used.compilations,
                processes=used.processes,
            )
            for name, used in self._stages.items()
        }

    def begin_stage(self, name: str, detail: str = "") -> None:
        """The stage before it has ended."""
        self._charge_stage()
        self._name = name
        self._progress.begin_stage(name, detail)

    def _charge_stage(self) -> None:
        """Puts what was used since the last time down to the stage that goes on."""
        now = self._read()
        kept = self._stages.get(self._name, StageUsage())
        self._stages[self._name] = kept + now - self._since
        self._since = now

    def update(self, candidates: int, size: str) -> None:
        """Goes on to the display."""
        self._progress.update(candidates, size)

    def note(self, text: str) -> None:
        """Goes on to the display."""
        self._progress.note(text)

    def close(self) -> None:
        """Goes on to the display."""
        self._progress.close()

    def __enter__(self) -> MeteredProgress:
        self._progress.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self._progress.__exit__(*reason)

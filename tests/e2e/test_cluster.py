"""A cluster that loses workers, its scheduler, or its patience: each result comes once and none is
lost.

The workers are real Dask processes; what they check are interpreters that take a moment to say that
they have no torch.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reporter.check.cluster import Cluster
from reporter.check.subject import CheckSubject
from reporter.check.work import CheckResult, Task
from reporter.core.errors import CannotJudgeError
from reporter.core.settings import ProcessOptions
from reporter.environments.release import build_interpreter_release
from tests.support.places import ROOT
from tests.support.waiting import PATIENCE, until

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Dask:
    """A scheduler on a fixed port, and workers."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.port = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        self.file.unlink(missing_ok=True)
        scheduler = self._start(
            "scheduler", "--port", str(self.port), "--scheduler-file", str(self.file)
        )
        until(lambda: self.address or scheduler.poll() is not None, "the scheduler")
        self.port = int(self.address.rpartition(":")[2])
        return scheduler

    @property
    def address(self) -> str:
        """Where the scheduler listens, once its file is there and complete."""
        try:
            return str(json.loads(self.file.read_text())["address"])
        except (OSError, ValueError):
            return ""

    def has_workers(self, count: int) -> None:
        """Waits until so many workers have reported to the scheduler."""
        import distributed

        with distributed.Client(self.address, timeout=PATIENCE) as client:
            client.wait_for_workers(count, timeout=PATIENCE)

    def worker(self, *more: str) -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--nthreads", "1", "--no-nanny", *more)

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words, "--no-dashboard"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(  # type: ignore[call-overload]
            command, env=environment, cwd=ROOT, **QUIET
        )
        self.processes.append(process)
        return process


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    cluster = Dask(tmp_path)
    yield cluster
    for process in cluster.processes:
        process.kill()
        process.wait()


class Clock:
    """Stands still until the trouble has begun, so that a slow start is none."""

    def __init__(self) -> None:
        self.runs = False

    def __call__(self) -> float:
        return time.monotonic() if self.runs else 0.0


def tasks(folder: Path, count: int, seconds: float = 0.3) -> list[Task]:
    """Checks that take `seconds` each: two releases, turn about, of interpreters that hesitate."""
    found = []
    for number in range(count):
        python = folder / f"python{number}"
        python.write_text(f"#!/bin/sh\nsleep {seconds}\nexit 1\n")
        python.chmod(0o755)
        found.append(
            Task(
                CheckSubject(f"r{number}", f"k{number}", "pass"), build_interpreter_release(python)
            )
        )
    return found


def collect(
    found: list[CheckResult], at_half: Callable[[], object], half: int
) -> Callable[[CheckResult], None]:
    def keep(check: CheckResult) -> None:
        found.append(check)
        if len(found) == half:
            at_half()

    return keep


def assert_complete(found: list[CheckResult], work: list[Task]) -> None:
    assert sorted(check.cell for check in found) == sorted(task.cell for task in work)
    assert {check.outcome for check in found} == {"cannot_judge"}
    assert all("does not behave like a Python" in check.detail for check in found)


def test_a_lost_worker_costs_nothing(dask: Dask, tmp_path: Path) -> None:
    lost, _ = dask.worker(), dask.worker()
    dask.has_workers(2)
    work, found = tasks(tmp_path, 30), list[CheckResult]()
    Cluster(dask.address, ProcessOptions()).run(work, collect(found, lost.kill, 10))
    assert_complete(found, work)


@pytest.mark.slow
def test_a_scheduler_that_comes_back_is_gone_on_with(dask: Dask, tmp_path: Path) -> None:
    dask.worker()

    def restart() -> None:
        dask.scheduler.kill()
        dask.scheduler.wait()
        dask.scheduler = dask.start_scheduler()
        dask.worker()

    work, found = tasks(tmp_path, 12), list[CheckResult]()
    Cluster(dask.address, ProcessOptions()).run(work, collect(found, restart, 4))
    assert_complete(found, work)


@pytest.mark.slow
def test_a_scheduler_that_stays_away_is_said_and_the_results_are_kept(
    dask: Dask, tmp_path: Path
) -> None:
    dask.worker()
    work, found = tasks(tmp_path, 12), list[CheckResult]()
    clock = Clock()

    def kill() -> None:
        dask.scheduler.kill()
        clock.runs = True

    with pytest.raises(CannotJudgeError, match=r"does not answer.*same command again"):
        Cluster(dask.address, ProcessOptions(), patience=5, clock=clock).run(
            work, collect(found, kill, 4)
        )
    assert 4 <= len({check.cell for check in found}) == len(found) < 12


@pytest.mark.slow
def test_a_worker_that_hangs_does_not_hold_up_the_rest(dask: Dask, tmp_path: Path) -> None:
    first, second = dask.worker(), dask.worker()
    dask.has_workers(2)
    work, found = tasks(tmp_path, 10), list[CheckResult]()
    clock = Clock()

    def stop() -> None:
        clock.runs = True
        os.kill(first.pid, signal.SIGSTOP)  # it holds its task and says nothing any more

    try:
        Cluster(dask.address, ProcessOptions(), slow=5, clock=clock).run(
            work, collect(found, stop, 3)
        )
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert second.poll() is None and clock.runs
    assert_complete(found, work)


def test_nobody_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotJudgeError, match="does not answer"):
        Cluster("tcp://127.0.0.1:9", ProcessOptions(), patience=1).run(
            tasks(tmp_path, 1), lambda _: None
        )

"""Seconds per check: warm workers against a cold process each, one worker against two, and a
cluster that loses one of two workers.

    python bench/check.py [--repros N] [--checks N] [--python PYTHON]... [--part
    warm|scaling|cluster]...

The repros are small programs that differ in their sizes, half of them right and half of them wrong
where they are compiled; each is compiled by inductor. With one interpreter given (the default is
this one) it stands for both releases under two names. Both ways of a comparison run in the same
minutes, alternately in blocks, so that other work on the machine slows both down.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reporter.check.cluster import Cluster
from reporter.check.engine import LocalEngine
from reporter.check.subject import CheckSubject
from reporter.check.work import CheckResult, Task, TaskRunner
from reporter.core.kinds import CheckOutcome, Kind
from reporter.core.settings import Options
from reporter.core.signature import Signature
from reporter.environments.release import Release
from reporter.execution.fresh_process import run_cold
from reporter.store.reports import compute_key

TEXT = """
import torch

def repro(x):
    out = torch.softmax(x * {number}, -1).relu() + {number}
    return out + {wrong} if torch.compiler.is_compiling() else out

def main():
    x = torch.ones(8, {width})
    compiled = torch.compile(repro{backend})(x)
    assert torch.allclose(compiled, repro(x)), "wrong result: output 0"

if __name__ == "__main__":
    main()
"""
BLOCK = 4
ROOT = Path(__file__).resolve().parents[1]


def build_tasks(count: int, releases: list[Release], backend: str = "") -> list[Task]:
    """`count` repros on each release, with what each showed the last time, as a nightly run has
    it.
    """
    found = []
    for release in releases:
        for number in range(count):
            wrong = number % 2
            text = TEXT.format(
                number=number + 2, width=16 * (number % 32 + 1), wrong=wrong, backend=backend
            )
            subject = CheckSubject(
                f"r{number}", compute_key(text), text, Signature(Kind.WRONG_RESULT), (3, 3)
            )
            expected = CheckOutcome.REPRODUCES if wrong else CheckOutcome.FIXED
            found.append(Task(subject, release, expected=expected))
    return found


def time_tasks(work: list[Task], runner: TaskRunner, jobs: int) -> float:
    """Seconds for the tasks on warm workers.

    Raises RuntimeError where one shows something else than it should.
    """
    started = time.monotonic()
    found: list[CheckResult] = []
    LocalEngine(runner, jobs).run(work, found.append)
    wanted = {task.cell: task.expected for task in work}
    for check in found:
        if check.outcome != wanted[check.cell]:
            raise RuntimeError(f"unexpected: {check}")
    return time.monotonic() - started


def warm_against_cold(work: list[Task], jobs: int) -> None:
    """What a warm worker saves, release by release."""
    print(f"{jobs} at a time; seconds per check; starting the workers is counted apart")
    print(
        f"{'release':<50}{'checks':>8}{'start s':>9}{'warm':>8}{'cold':>8}{'ratio':>8}"
        f"{'with start':>12}"
    )
    with TaskRunner.make_local(jobs) as runner:
        for release in dict.fromkeys(task.release for task in work):
            mine = [task for task in work if task.release == release]
            start = time_tasks([replace(mine[0], few=False)], runner, jobs)
            warm = cold = 0.0
            for begin in range(0, len(mine), BLOCK):
                block = mine[begin : begin + BLOCK]
                warm += time_tasks(block, runner, jobs)
                cold += time_cold(block, runner, jobs)
            number = len(mine)
            ratios = f"{cold / warm:>7.1f}x{cold / (warm + start):>11.1f}x"
            row = f"{release.label[-48:]:<50}{number:>8}{start:>9.1f}"
            row += f"{warm / number:>8.2f}{cold / number:>8.2f}"
            print(row + ratios, flush=True)


def time_cold(block: list[Task], runner: TaskRunner, jobs: int) -> float:
    """Seconds for the tasks in a fresh process each, with the toolchain checks of the warm-up, as
    `check` runs them.
    """

    def run(task: Task) -> None:
        python = runner.environments.provide(task.release).python
        run_cold(python, task.subject.text, 600, warm_cache=runner.pools.prepare_warm_cache(python))

    started = time.monotonic()
    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(run, block))
    return time.monotonic() - started


def measure_scaling(work: list[Task]) -> None:
    """One candidate at a time against two."""
    seconds = {1: 0.0, 2: 0.0}
    with TaskRunner.make_local(1) as one, TaskRunner.make_local(2) as two:
        runners = {1: one, 2: two}
        for jobs, runner in runners.items():
            time_tasks(work[:1], runner, jobs)
        for begin in range(0, len(work), BLOCK):
            for jobs, runner in runners.items():
                seconds[jobs] += time_tasks(work[begin : begin + BLOCK], runner, jobs)
    print(f"{len(work)} checks each: one at a time {seconds[1]:.1f} s, two {seconds[2]:.1f} s")
    print(f"scaling       {seconds[1] / seconds[2]:8.2f}", flush=True)


def measure_cluster(work: list[Task]) -> None:
    """A scheduler and two worker processes, one of which is killed when half of the results are
    there.
    """
    found: list[CheckResult] = []
    killed: list[float] = []
    with tempfile.TemporaryDirectory() as folder, start_cluster(Path(folder)) as (address, workers):

        def keep(check: CheckResult) -> None:
            found.append(check)
            if len(found) == len(work) // 2:
                workers[0].kill()
                killed.append(time.monotonic())

        started = time.monotonic()
        Cluster(address, Options()).run(work, keep)
        seconds = time.monotonic() - started
    wanted = {task.cell: task.expected for task in work}
    wrong = sum(check.outcome != wanted[check.cell] for check in found)
    print(
        f"{len(work)} checks on a cluster of two workers, one killed after"
        f" {killed[0] - started:.0f} s: {seconds:.0f} s"
    )
    print(
        f"results {len(found)}, cells {len({check.cell for check in found})},"
        f" other than expected {wrong}",
        flush=True,
    )


@contextmanager
def start_cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler of dask and two of its workers, with one thread each; they end with the block.

    Args:
        folder: where the scheduler writes how it is reached.

    Yields:
        The scheduler's address, and the processes of the workers.
    """
    contact = folder / "scheduler.json"
    processes = [start_dask("scheduler", contact, "--port", "0")]
    try:
        while not contact.exists():
            time.sleep(0.1)
        for _ in range(2):
            processes.append(start_dask("worker", contact, "--nthreads", "1", "--no-nanny"))
        yield json.loads(contact.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def start_dask(role: str, contact: Path, *options: str) -> subprocess.Popen[bytes]:
    """A process of `distributed`, whose scheduler is told by the file `contact`."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{role}"]
    command += ["--scheduler-file", str(contact), "--no-dashboard", *options]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, action="append")
    parser.add_argument("--repros", type=int, default=200)
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--part", action="append", choices=("warm", "scaling", "cluster"))
    options = parser.parse_args()
    pythons = options.python or [Path(sys.executable)] * 2
    releases = [
        Release(f"{path} ({number})", python=str(path)) for number, path in enumerate(pythons, 1)
    ]
    parts = options.part or ["warm", "scaling", "cluster"]
    if "warm" in parts:
        warm_against_cold(build_tasks(options.repros, releases), options.jobs)
    if "scaling" in parts:
        measure_scaling(build_tasks(min(options.repros, 100), releases[:1]))
    if "cluster" in parts:
        measure_cluster(build_tasks(options.checks, releases[:1], ', backend="aot_eager"'))


if __name__ == "__main__":
    main()

"""Runs the tasks of a check and hands their results over as they come.

The engine of one machine is a handful of threads over the warm workers of one process. Results come
in any order; whoever asked keeps the first one of each cell.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from reporter.check.work import CheckResult, Task, TaskRunner
from reporter.core.settings import ProcessOptions

Keep = Callable[[CheckResult], None]


class Engine(Protocol):
    """Runs tasks somewhere and calls `keep` with each result, in the caller's thread; at least one
    result per task.
    """

    def run(self, tasks: Sequence[Task], keep: Keep) -> None:
        """Returns when all tasks are done; what `keep` raises ends the run."""


class LocalEngine:
    """This machine, `jobs` cells at a time."""

    def __init__(self, runner: TaskRunner, jobs: int) -> None:
        self._runner = runner
        self._jobs = max(1, jobs)

    def run(self, tasks: Sequence[Task], keep: Keep) -> None:
        """See `Engine`. On Ctrl-C, or if `keep` fails, what has not begun is not begun any more."""
        threads = ThreadPoolExecutor(self._jobs, thread_name_prefix="check")
        waiting: set[Future[CheckResult]] = {
            threads.submit(self._runner.perform, task) for task in tasks
        }
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    keep(future.result())
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            self._runner.stop()  # threads cannot be ended, only what they wait for
            raise
        threads.shutdown()


@contextlib.contextmanager
def open_local(options: ProcessOptions, say: Callable[[str], None]) -> Iterator[LocalEngine]:
    """The engine of this machine, with its cache and workers of its own."""
    with TaskRunner.make_local(options.jobs, options.memory, options.workers, say) as runner:
        yield LocalEngine(runner, options.jobs)

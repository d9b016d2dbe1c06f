"""Checks on a Dask cluster: it moves tasks, retries and balances; all that is added here is that a
result counts once and none is lost.

Workers need the tool and build their environments themselves. What has been computed is with us
(and in the store) the moment it is done, so a lost worker costs its current task and a lost
scheduler the tasks under way; both are handed out again.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from reporter.check.engine import Keep
from reporter.check.judging import Decision
from reporter.check.runs import Cell
from reporter.check.work import CheckResult, Task, build_result, perform_here
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.kinds import CheckOutcome
from reporter.core.settings import ProcessOptions
from reporter.report.sections.base import build_section

#: Seconds for a scheduler to come, or to come back.
PATIENCE = 60.0
#: How often a task may take its worker down with it before it is given up.
_DEATHS = 3
_POLL = 0.5


@dataclass
class _RunState:
    """What is under way: `futures` by key, `since` when anything was last heard, `deaths` of
    workers by cell.
    """

    tasks: dict[Cell, Task]
    futures: dict[str, tuple[Cell, Any]] = field(default_factory=dict)
    deaths: dict[Cell, int] = field(default_factory=dict)
    copies: dict[Cell, int] = field(default_factory=dict)
    since: float = 0.0
    done: queue.Queue[str] = field(default_factory=queue.Queue)


class Cluster:
    """The engine behind `--executor dask`; `slow` is after how many silent seconds tasks get a
    second copy elsewhere.

    `clock` tells the seconds that pass while nothing is heard.
    """

    def __init__(
        self,
        address: str,
        options: ProcessOptions,
        patience: float = PATIENCE,
        slow: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._given = {"memory": options.memory, "isolation": options.workers}
        self._patience = patience
        self._clock = clock
        self._slow = slow if slow is not None else 4 * options.timeout + 600

    def run(self, tasks: Sequence[Task], keep: Keep) -> None:
        """See `Engine`.

        Raises:
            UsageError: dask is not installed.
            CannotJudgeError: the scheduler is gone for good.
        """
        distributed = _import_distributed()
        state = _RunState({task.cell: task for task in tasks})
        while state.tasks:
            client = self._connect(distributed, len(state.tasks))
            try:
                self._serve(client, state, keep)
            finally:
                state.futures.clear()
                _close(client)

    def _connect(self, distributed: Any, left: int) -> Any:
        end = self._clock() + self._patience
        while True:
            try:
                return distributed.Client(self._address, timeout=min(10.0, self._patience))
            except (OSError, TimeoutError, ValueError) as error:
                if self._clock() > end:
                    raise CannotJudgeError(
                        f"the scheduler {self._address} does not answer ({type(error).__name__})"
                        f" and {left} checks are left; start it and give the same command again,"
                        " which goes on where this one was"
                    ) from None
                time.sleep(1)

    def _serve(self, client: Any, state: _RunState, keep: Keep) -> None:
        """Hand everything out and take results in, until all is done or the scheduler is lost."""
        for cell in list(state.tasks):
            self._submit(client, state, cell)
        state.since = self._clock()
        while state.tasks:
            try:
                key = state.done.get(timeout=_POLL)
            except queue.Empty:
                if client.status not in ("running", "connecting"):
                    return
                if self._clock() - state.since > self._slow:
                    self._copy(client, state)
                continue
            state.since = self._clock()
            if not self._note_end(client, state, key, keep):
                return

    def _submit(self, client: Any, state: _RunState, cell: Cell, **where: Any) -> None:
        number = state.copies[cell] = state.copies.get(cell, -1) + 1
        key = f"check-{cell[0]}-{abs(hash(cell[1])):x}-{number}-{time.monotonic_ns()}"
        task = msgspec.to_builtins(state.tasks[cell])
        future = client.submit(perform_here, task, self._given, key=key, pure=False, **where)
        state.futures[key] = (cell, future)
        future.add_done_callback(lambda done: state.done.put(done.key))

    def _note_end(self, client: Any, state: _RunState, key: str, keep: Keep) -> bool:
        """One task has ended somehow; False if that was the end of the scheduler."""
        entry = state.futures.pop(key, None)
        if entry is None or entry[0] not in state.tasks:
            return True  # a copy of it was quicker
        cell, future = entry
        if future.status == "finished":
            try:
                check = build_section(CheckResult, future.result(timeout=self._patience))
            except Exception:  # the result went with its worker, or the scheduler with both
                return self._try_again(client, state, cell)
            del state.tasks[cell]
            keep(check)
            return True
        if future.status == "error":
            return self._settle_failure(client, state, cell, future, keep)
        return self._try_again(client, state, cell)  # cancelled or lost

    def _settle_failure(
        self, client: Any, state: _RunState, cell: Cell, future: Any, keep: Keep
    ) -> bool:
        """The task raised, which it never does by itself: its worker died with it, or cannot run it
        at all.
        """
        try:
            error = future.exception(timeout=self._patience)
        except Exception:  # the scheduler is lost
            return self._try_again(client, state, cell)
        state.deaths[cell] = state.deaths.get(cell, 0) + 1
        if type(error).__name__ == "KilledWorker" and state.deaths[cell] < _DEATHS:
            return self._try_again(client, state, cell)
        task = state.tasks.pop(cell)
        said = "".join(str(error).splitlines()[:1])[:200]
        why = f"no worker could do it ({type(error).__name__}: {said})"
        keep(build_result(task, None, Decision(CheckOutcome.CANNOT_JUDGE, why)))
        return True

    def _try_again(self, client: Any, state: _RunState, cell: Cell) -> bool:
        if client.status not in ("running", "connecting"):
            return False
        self._submit(client, state, cell)
        return True

    def _copy(self, client: Any, state: _RunState) -> None:
        """Nothing has come for long: what is under way gets one copy each on workers that do not
        have it.
        """
        state.since = self._clock()
        busy = {key: worker for worker, keys in client.processing().items() for key in keys}
        workers = set(client.scheduler_info(n_workers=-1)["workers"])
        for key, (cell, _) in list(state.futures.items()):
            others = sorted(workers - {busy.get(key, "")})
            if cell in state.tasks and state.copies.get(cell, 0) < 1 and others:
                self._submit(client, state, cell, workers=others, allow_other_workers=False)


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--executor dask needs Dask; install it with `pip install 'torch-bugreport[dask]'`"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return distributed


def _close(client: Any) -> None:
    try:
        client.close(timeout=5)
    except Exception:  # it has nobody left to say goodbye to
        pass

"""The workers of one run, in the user's interpreter and in those it has to differ from, with their
compiler caches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from reporter.core.kinds import Backend
from reporter.core.settings import ProcessOptions
from reporter.execution import interpreter, launch
from reporter.execution.compiler_cache import prepare_warm_folder
from reporter.execution.fresh_runs import FreshRuns
from reporter.execution.preloaded_process import PreloadedProcess
from reporter.execution.worker_pool import WorkerPool, WorkerSettings
from reporter.reduce.contrast import ContrastInterpreter


class WorkerSet:
    """The workers of one run and their compiler caches; made at once, started when first needed.

    `options` say what a process may take. `contrasts` are those of the other interpreters that a
    candidate must pass in; `fresh` runs what was found in processes of its own.
    """

    def __init__(
        self,
        options: ProcessOptions,
        python: Path,
        folder: Path,
        others: Sequence[interpreter.InterpreterInfo] = (),
    ) -> None:
        self.folder = folder
        self.python = python
        self.options = options
        self._others = others
        self._isolation = options.workers
        self._warm_backend: Backend | None = Backend.INDUCTOR
        self.warm_cache = self._find_warm_cache(python)
        self._set_up()

    def _set_up(self) -> None:
        """Makes the workers of all interpreters."""
        kind = self._isolation
        with contextlib.ExitStack() as stack:
            self.pool = stack.enter_context(
                self._build_pool(self.python, self.warm_cache, f"workers-{kind}")
            )
            self.contrasts: list[ContrastInterpreter] = []
            for number, info in enumerate(self._others):
                warm_cache = self._find_warm_cache(info.path)
                pool = stack.enter_context(
                    self._build_pool(info.path, warm_cache, f"workers-{kind}-{number}")
                )
                self.contrasts.append(ContrastInterpreter(info, pool, warm_cache))
            preloaded = (
                stack.enter_context(PreloadedProcess(self.python, self.warm_cache))
                if kind == "fork"
                else None
            )
            self.fresh = FreshRuns(self.python, self.warm_cache, preloaded)
            self._pools = stack.pop_all()

    def prepare_for(self, device: str) -> None:
        """Sees to it that candidates can compute on `device`: the fork of a process that has used a
        GPU cannot, and a warm-up that compiles uses it.
        """
        if device != "cpu" and self._warm_backend is not None:
            self._pools.close()
            self._warm_backend = None
            self._set_up()

    def _find_warm_cache(self, python: Path) -> Path:
        """The folder of an interpreter's warm-up cache, which outlives the run."""
        return prepare_warm_folder(python, self.folder / "warm")

    def _build_pool(self, python: Path, warm_cache: Path, name: str) -> WorkerPool:
        """Every pool gets all the jobs: the scheduler never has more candidates under way, wherever
        they run.
        """
        options = self.options
        (self.folder / name).mkdir(exist_ok=True)
        return WorkerPool(
            python,
            options.jobs,
            launch.build_variables(),
            self.folder / name,
            WorkerSettings(
                memory_limit=int(options.memory * 2**30),
                isolation=self._isolation,
                warm_backend=self._warm_backend,
                warm_cache=warm_cache,
                remembers=True,
            ),
        )

    def start(self) -> None:
        """Starts all warm-ups, side by side."""
        for pool in (self.pool, *(contrast.pool for contrast in self.contrasts)):
            pool.start()

    def close(self) -> None:
        """Ends the workers."""
        self._pools.close()

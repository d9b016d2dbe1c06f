"""Warm workers of the last few interpreters: starting them is slow, and keeping them costs little.

A check borrows the pool of its interpreter and gives it back. When there are too many pools, the
one that was not borrowed for longest is closed.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.words import Isolation
from reporter.environments.cache_folder import choose_variables
from reporter.execution.compiler_cache import prepare_warm_folder
from reporter.execution.launch import build_repro_variables
from reporter.execution.worker_pool import WorkerPool, WorkerSettings

#: Interpreters whose workers are kept; each holds some 400 MB.
_KEPT = 2


@dataclass
class _PoolEntry:
    pool: WorkerPool
    users: int = 0


class Pools:
    """The warm workers of one process, `jobs` candidates at a time each; `memory` is in GiB per
    candidate.
    """

    def __init__(self, jobs: int = 1, memory: float = 4.0, isolation: Isolation = "fork") -> None:
        self.jobs = jobs
        self.memory = memory
        self.isolation = isolation
        self._pools: dict[Path, _PoolEntry] = {}
        self._lock = threading.RLock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0

    @contextlib.contextmanager
    def borrow(self, python: Path) -> Iterator[WorkerPool]:
        """The pool of an interpreter, started if need be."""
        closing: list[WorkerPool] = []
        with self._lock:
            kept = self._pools.pop(python, None) or _PoolEntry(self._start(python))
            self._pools[python] = kept  # the last one is the one used last
            kept.users += 1
            idle = [path for path, item in self._pools.items() if not item.users]
            for path in idle[: max(0, len(self._pools) - _KEPT)]:
                closing.append(self._pools.pop(path).pool)
        for pool in closing:
            pool.close()
        try:
            yield kept.pool
        finally:
            with self._lock:
                kept.users -= 1

    def drop(self, python: Path) -> None:
        """Close the pool of an interpreter, because what it runs in is to be repaired."""
        with self._lock:
            kept = self._pools.pop(python, None)
        if kept is not None:
            kept.pool.close()

    def close(self) -> None:
        """Close all pools and remove their files."""
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
            folder, self._folder = self._folder, None
        for kept in pools:
            kept.pool.close()
        if folder is not None:
            with contextlib.suppress(OSError):
                folder.cleanup()

    def _make_work_folder(self) -> Path:
        """Where files of this process lie."""
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="bugreport-check-")
            return Path(self._folder.name)

    def prepare_warm_cache(self, python: Path) -> Path:
        """The compiler cache of an interpreter's warm-up, which outlives the process."""
        return prepare_warm_folder(python, self._make_work_folder() / "warm")

    def build_variables(self, python: Path) -> dict[str, str]:
        """Those that a repro has in an interpreter: in an environment of the tool's own nothing
        takes the place of what is installed there.
        """
        return choose_variables(python, build_repro_variables(os.environ))

    def _start(self, python: Path) -> WorkerPool:
        self._made += 1
        return WorkerPool(
            python,
            self.jobs,
            {**self.build_variables(python), "PYTHONDONTWRITEBYTECODE": "1"},
            self._make_work_folder() / f"workers-{self._made}",
            WorkerSettings(
                memory_limit=int(self.memory * 2**30),
                isolation=self.isolation,
                warm_cache=self.prepare_warm_cache(python),
            ),
        )

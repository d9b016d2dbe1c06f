"""Measurements that a report can do without.

The verdict, the smallest program and its fresh processes are the report. Everything else only says
more of them and comes afterwards; Ctrl-C, `--quick` and `--budget` leave it out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from reporter.core.progress import Progress

T = TypeVar("T")


class Extras:
    """Measures what is wanted, one thing after another, and keeps the names of what it left out.

    Args:
        wanted: whether anything is measured at all.
        end: the time by the `clock`, in seconds, after which nothing more begins.
    """

    def __init__(
        self,
        progress: Progress,
        wanted: bool = True,
        end: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.left_out: list[str] = []
        self._progress = progress
        self._wanted = wanted
        self._end = end
        self._clock = clock

    def measure(self, name: str, detail: str, ask: Callable[[], T], otherwise: T) -> T:
        """What `ask` returns; `otherwise` where there is no time for it or Ctrl-C ends it.

        Args:
            name: of the stage, as a report names what it left out.
        """
        if not self._wanted or self._end is not None and self._clock() >= self._end:
            self.left_out.append(name)
            return otherwise
        try:
            self._progress.stage(name, detail)
            return ask()
        except KeyboardInterrupt:
            self._wanted = False
            self.left_out.append(name)
            self._progress.note(
                "interrupted: the report is written with what is known (Ctrl-C again: no report)"
            )
            return otherwise

"""Fresh processes of one interpreter, really cold or forks of a preloaded one, and the control
run.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path

from collectors.protocol.candidates import CandidateRequest, MeasurementLine, MeasurementRequest
from reporter.core.answer import Answer
from reporter.execution import control
from reporter.execution.fresh_process import FreshResult, run_cold, run_fresh, stop_all
from reporter.execution.preloaded_process import PreloadedProcess


@dataclass(frozen=True)
class FreshRuns:
    """Runs repros of an interpreter; limits are in seconds.

    `warm` is the cache of a warm-up, whose toolchain checks are used; without a `preloaded` every
    process is really cold.
    """

    python: Path
    warm_cache: Path
    preloaded: PreloadedProcess | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    def prepare(self, inductor: bool) -> None:
        """Starts what forks, so that it has imported torch when it is needed.

        Args:
            inductor: whether the programs compile with Inductor.
        """
        if self.preloaded is not None:
            self.preloaded.start(inductor)

    def stop(self) -> None:
        """Kills what runs, and nothing runs any more: whoever waits gets a death as its answer at
        once, and whoever comes later a `CancelledError`.
        """
        self.stopped.set()
        stop_all()
        if self.preloaded is not None:
            self.preloaded.close()

    def run_cold(self, text: str, limit: float) -> Answer:
        """A really cold process, which says how it failed.

        Args:
            text: the complete repro.
            limit: in seconds.
        """
        if self.stopped.is_set():
            raise CancelledError
        return run_cold(self.python, text, limit, describe=True, warm_cache=self.warm_cache)

    def run_fresh(self, text: str, limit: float) -> Answer:
        """One more, beside a cold one: a fork of the preloaded process, or where there is none
        another cold one.

        Args:
            text: the complete repro.
            limit: in seconds.
        """
        forked = self._fork({"id": 0, "text": text, "timeout": limit})
        return forked.answer if forked is not None else self.run_cold(text, limit)

    def run_watched(self, text: str, limit: float, tools: Sequence[str], into: Path) -> Answer:
        """As `run_fresh`, with torch's debugging tools on; what they find lies in a folder.

        Where the process cannot be forked it is an ordinary one, and nothing is in the folder.

        Args:
            text: the complete repro.
            tools: names of `collectors.debugtools`, such as `logs` and `trace`.
            into: that folder, new or empty: `found`, with the files of the tools, and
                `answer.json`, if the process wrote one.
        """
        forked = self._fork({"id": 0, "text": text, "timeout": limit, "tools": list(tools)}, into)
        return forked.answer if forked is not None else self.run_cold(text, limit)

    def run_control(self, text: str, limit: float) -> Answer:
        """The text without the compiler: what is compiled runs in eager mode.

        Args:
            text: the complete repro.
            limit: in seconds.
        """
        forked = self._fork(
            {"id": 0, "text": text, "timeout": limit, "overrides": control.WITHOUT_COMPILER}
        )
        if forked is not None:
            return forked.answer
        return control.run_control(self.python, text, limit, self.warm_cache)

    def look(self, text: str, limit: float, wanted: MeasurementRequest) -> list[MeasurementLine]:
        """What `collectors.dynamo.repro_measurements` finds of a repro, as far as it came.

        Args:
            text: the complete repro.
            limit: seconds for the process; the lines that it has written before count.
            wanted: what is measured.
        """
        request: CandidateRequest = {"id": 0, "text": text, "timeout": limit, "measure": wanted}
        result = self._fork(request) or run_fresh(self.python, request, self.warm_cache)
        return list(result.measurements)

    def _fork(self, request: CandidateRequest, into: Path | None = None) -> FreshResult | None:
        """The candidate in a fork of the preloaded process; None where none can be made."""
        if self.preloaded is None or self.stopped.is_set():
            return None
        try:
            return run_fresh(self.preloaded, request, self.warm_cache, into=into)
        except OSError:
            return None

"""A script that is run and watched, once or several times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reporter.core.program_account import ProgramAccount
from reporter.core.progress import Progress
from reporter.core.settings import WorkOptions
from reporter.recording.entry_points import EntryPoint, build_program_start
from reporter.recording.findings import Recording
from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions


@dataclass(frozen=True)
class Audience:
    """Who hears of a watched script: what it prints goes to `echo`, and `untrusted` is told how the
    run of a stranger's program ended.
    """

    progress: Progress
    echo: IO[bytes] | None
    untrusted: Callable[[ProgramAccount], None] | None = None


@dataclass(frozen=True)
class WatchedScript:
    """The script as it is run and watched; `folder` holds its working files."""

    entry: EntryPoint
    python: Path
    folder: Path
    work: WorkOptions
    audience: Audience

    def choose_watching(self) -> WatchOptions:
        """How its first run is watched."""
        work = self.work
        return WatchOptions(
            work.timeout,
            reruns=work.jobs,
            isolation="rerun" if work.workers == "spawn" else "fork",
            # with a budget the script's share of it is all that it has
            longest=work.timeout if work.budget else None,
            guarded=self.audience.untrusted is not None,
        )

    def run(self, watching: WatchOptions) -> Recording:
        """Runs it; what it prints is seen."""
        echo, note = self.audience.echo, self.audience.progress.note
        return RecordingSession(self._build_program(), watching, echo, note).run()

    def run_again(self, watching: WatchOptions, **variables: str) -> Recording:
        """Runs it once more, with further environment variables; what it prints has been printed by
        the first run.
        """
        program = self._build_program(**variables)
        return RecordingSession(program, watching, talk=self.audience.progress.note).run()

    def _build_program(self, **variables: str) -> WatchedProgram:
        entry = self.entry
        return WatchedProgram(
            self.python,
            tuple(entry.command),
            entry.cwd,
            self.folder / "cache",
            build_program_start(entry),
            {**entry.build_variables(), **variables},
        )

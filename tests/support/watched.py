"""Runs a script under the recorder, as `bugreport` does, for tests that ask the recording
something.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from reporter.execution.compiler_cache import prefill
from reporter.recording.findings import Recording
from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions
from tests.support import interpreter, scripts

#: Modules that a script may import from beside it.
BESIDE = scripts.HOME / "verdicts" / "beside"


def session(
    command: list[str],
    folder: Path,
    *,
    python: Path | None = None,
    module: bool = False,
    timeout: float = 600,
    clock: Callable[[], float] = time.monotonic,
) -> RecordingSession:
    """What would watch a command that is started in `folder`, by default with the warm
    interpreter.
    """
    program = WatchedProgram(
        python or interpreter.WARM,
        tuple(command),
        folder,
        _cache(folder),
        {"kind": "module" if module else "script"},
    )
    return RecordingSession(program, WatchOptions(timeout), clock=clock)


def _cache(folder: Path) -> Path:
    """A compiler cache of the script's own, with the checks of the C++ compiler, which take longer
    than most tests.

    Graphs are not shared: a script that injects a fault into torch would get the graph of one that
    does not.
    """
    prefill(folder / "inductor", interpreter.session() / "inductor")
    return folder / "inductor"


def watch(text: str, folder: Path, timeout: float = 600) -> Recording:
    """The recording of a script; the caller closes it.

    A script that holds a clock (`held_clock`) is timed by it.
    """
    job = folder / "job"
    job.mkdir(exist_ok=True)
    for module in BESIDE.glob("*.py"):
        if f"import {module.stem}" in text or f"from {module.stem} import" in text:
            shutil.copy(module, job)
    (job / "script.py").write_text(text, encoding="utf-8")

    def clock() -> float:
        try:
            passed = sum(map(float, (job / "passed").read_text().split()))
        except FileNotFoundError:
            passed = 0.0
        return time.monotonic() + passed

    return session([str(job / "script.py")], folder, timeout=timeout, clock=clock).run()

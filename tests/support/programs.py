"""Programs that ask for a report themselves, started as their authors start them."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from reporter.execution.launch import COLLECTORS
from tests.support import interpreter
from tests.support.entry_points import tool


def program(
    folder: Path, *command: str, python: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A program of the user's, with the hook's folder on PYTHONPATH; the tool that it starts asks
    `python` too.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(COLLECTORS / "hook"),
        "BUGREPORT_COMMAND": shlex.join(tool("--python", python)),
        "TORCHINDUCTOR_CACHE_DIR": str(interpreter.session() / "inductor"),
        **variables,
    }
    return subprocess.run(
        [str(python), *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )

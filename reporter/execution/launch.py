"""Starting the user's interpreter: which files it runs, with which environment, how its children
die.

Nothing of the tool is importable there; the collectors are loaded by location. The issue tracker's
tokens never reach a child process; candidates, which need no credentials at all, get none (see
`core.tokens`).
"""

from __future__ import annotations

import functools
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from reporter.core.tokens import remove_credentials, remove_tokens

COLLECTORS = Path(__file__).resolve().parents[2] / "collectors"
#: What runs candidates there.
WORKER_MAIN = COLLECTORS / "entry" / "worker_main.py"
#: What leaves a program to Python, or has Dynamo do so where it fails (`torch/_dynamo/config.py`
#: and `eval_frame.py`): a habit of the user that the reader of a repro does not have.
_SOFTENING = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS")


def build_variables(cache: Path | None = None) -> dict[str, str]:
    """The variables for a process of the target: the user's, without the issue tracker's tokens,
    with a cache of its own.

    The cache folder keeps compiled kernels of a diagnosis out of the user's cache, and a stale
    entry of the user's cache out of a diagnosis.
    """
    kept = remove_tokens(os.environ)
    if cache is not None:
        kept["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    return kept


def build_repro_variables(given: Mapping[str, str]) -> dict[str, str]:
    """The variables for a repro or a candidate: those `given`, without credentials and without what
    keeps the compiler from it.
    """
    kept = remove_credentials(given)
    return {name: value for name, value in kept.items() if name not in _SOFTENING}


def choose_standard_input() -> int | None:
    """What a script reads: the file or the pipe that the tool was given, else nothing; never the
    terminal.

    A file is read from where it stood for each run. A pipe can be read once.
    """
    try:
        descriptor = sys.stdin.fileno()
        kind = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL
    if stat.S_ISREG(kind):
        os.lseek(descriptor, _find_position(descriptor), os.SEEK_SET)
        return None
    return None if stat.S_ISFIFO(kind) else subprocess.DEVNULL


@functools.cache
def _find_position(descriptor: int) -> int:
    """Where the tool's own input stood before the first run: in a shell's loop over the lines of a
    file, that is behind the line that the loop has read.
    """
    return os.lseek(descriptor, 0, os.SEEK_CUR)


def kill_group(pid: int) -> None:
    """SIGKILL for the process group `pid`; nothing where there is none."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Kills a process started in its own session, with everything it started, and waits for it."""
    kill_group(process.pid)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        pass

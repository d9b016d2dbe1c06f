"""A process that has imported pytest and what the tests take from others; each run of tests is a
fork of it.

It reads one JSON object per line, {"words": arguments of pytest, "limit": seconds, "log": a file},
and answers the exit code, or null where the limit was passed. It imports nothing of the product,
which is what changes from run to run.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import NoReturn

_MODULES = (
    "pytest",
    "hypothesis",
    "hypothesis.strategies",
    "xdist.plugin",
    "pytest_cov.plugin",
    "typer.testing",
    "rich.console",
    "jinja2",
    "github",
    "black",
    "yaml",
    "markdown_it",
    "detect_secrets.core.scan",
    "platformdirs",
    "filelock",
    "packaging.version",
    "sqlite3",
    "http.server",
)
_STEP = 0.02  # seconds between two looks at a run


def serve() -> None:
    """Until standard input ends."""
    for name in _MODULES:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_run(asked["words"], asked["limit"], asked["log"])), flush=True)


def _run(words: list[str], limit: float, log: str) -> int | None:
    pid = os.fork()
    if pid == 0:
        _tests(words, log)
    end = time.monotonic() + limit
    ended = False
    try:
        while not ended and time.monotonic() < end:
            # WNOWAIT: it is only looked at, so that its number stays its own until its group has
            # been killed.
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            if not ended:
                time.sleep(_STEP)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def _tests(words: list[str], log: str) -> NoReturn:
    code = 3
    try:
        os.setsid()
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(target, number)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)

        import pytest

        code = int(pytest.main(words))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()

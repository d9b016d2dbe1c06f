"""Waiting for what is certain to happen, on a machine of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

#: Seconds after which something that should have happened never will; no test comes near it where
#: nothing is broken.
PATIENCE = 300.0


def until(
    condition: Callable[[], object], what: str = "what was waited for", patience: float = PATIENCE
) -> None:
    """Returns as soon as `condition` holds. Raises AssertionError when it never does."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"{what} has not happened within {patience:g} s"
        time.sleep(0.02)


def words_of(path: Path, count: int = 1) -> list[str]:
    """What another process has written to `path`, once its last line is complete and has at least
    `count` words.
    """

    def complete() -> bool:
        return (
            path.exists()
            and (text := path.read_text()).endswith("\n")
            and (len(text.split()) >= count)
        )

    until(complete, f"{count} words in {path.name}")
    return path.read_text().split()


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False

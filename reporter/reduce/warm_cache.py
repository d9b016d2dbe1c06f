"""The compiler cache of the warm-up, kept from run to run because checking the CPU's vector units
takes seconds.

A warm-up that was killed may have left half a file, which inductor would load as it is.  So a
marker stands in the folder while a warm-up uses it; whoever finds one takes a private folder
instead, and one that is too old to belong to a living warm-up condemns the whole folder.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

_STALE = 900.0


class WarmCache:
    """One user's claim to the cache in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._marker = folder / "warm-up-in-progress"
        self._claimed = False

    def claim(self) -> Path | None:
        """The folder, now marked as in use; None while another warm-up, living or killed, has it."""
        try:
            if self._marker.exists() and time.time() - self._marker.stat().st_mtime > _STALE:
                shutil.rmtree(self._folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            self._marker.touch(exist_ok=False)
        except OSError:
            return None
        self._claimed = True
        return self._folder

    def release(self) -> None:
        """The warm-up is complete, and so is every file."""
        if self._claimed:
            self._marker.unlink(missing_ok=True)
            self._claimed = False


def prefill(cache: Path, warm: Path | None) -> None:
    """Give a new ``cache`` the checks of the C++ toolchain that a warm-up has made, and nothing compiled from a program.

    They depend on the machine and the compiler only, cost ten seconds, and are found by the hash of their source. Without
    a finished warm-up nothing is copied.
    """
    cache.mkdir(parents=True, exist_ok=True)
    if warm is None or not warm.is_dir() or (warm / "warm-up-in-progress").exists():
        return
    for part in warm.iterdir():
        if part.is_dir() and len(part.name) == 2:
            shutil.copytree(part, cache / part.name, dirs_exist_ok=True)

"""A place for one candidate at a time: an empty folder to run in and a compiler cache that stays.

The cache may change how long a candidate takes and nothing else. So it belongs to one place,
where no two candidates meet; whatever a killed candidate may have left half written is deleted;
and only finished shared objects, whose names are the hash of their source and compiler flags, pass
from one place to another.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from . import cpp_prefix

#: File systems and clocks differ by less than this.
_SLACK = 2.0


class Slot:
    """A folder with `run` and `out` for the candidate and `cache` for the compiler."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.cache = os.path.join(folder, "cache")
        self.prepared: subprocess.Popen[bytes] | None = None
        self._borrowed = 0
        os.makedirs(self.cache, exist_ok=True)

    def fill(self, warm: str) -> None:
        """Take over what the warm-up has built, the slow checks of the C++ toolchain above all."""
        if not os.path.isdir(warm):
            return
        for name in os.listdir(warm):
            if len(name) == 2:
                shutil.copytree(
                    os.path.join(warm, name),
                    os.path.join(self.cache, name),
                    ignore=shutil.ignore_patterns("*" + cpp_prefix.SUFFIX),
                    dirs_exist_ok=True,
                )

    def link_prefix(self, warm: str) -> None:
        """Link the compiled header that kernels of older releases begin with: 120 MB that nobody
        changes.
        """
        for path in glob.glob(os.path.join(glob.escape(warm), "??", "*" + cpp_prefix.SUFFIX)):
            mine = os.path.join(self.cache, os.path.relpath(path, warm))
            with contextlib.suppress(OSError):  # another file system
                os.makedirs(os.path.dirname(mine), exist_ok=True)
                os.link(path, mine)

    def clear(self) -> None:
        """Empty the working folder and forget the previous answer."""
        for name in ("run", "out"):
            path = os.path.join(self.folder, name)
            shutil.rmtree(path, ignore_errors=True)
            os.makedirs(path, exist_ok=True)

    def purge(self, since: float) -> None:
        """Delete what was written to the cache after `since`: a killed compiler leaves half a
        file.
        """
        for path in self._find_written(since):
            try:
                os.unlink(path)
            except OSError:
                pass  # a lock that went with its owner

    def find_produced(self, since: float) -> list[str]:
        """The shared objects built after `since`; call it only after a candidate that ended by
        itself.
        """
        return [path for path in self._find_written(since) if path.endswith(".so")]

    def borrow(self, published: Sequence[str]) -> None:
        """Link what other places have built; `published` only ever grows, and is read from where
        it was left.
        """
        for path in published[self._borrowed :]:
            owner = os.path.dirname(os.path.dirname(path))
            mine = os.path.join(self.cache, os.path.relpath(path, owner))
            try:
                os.makedirs(os.path.dirname(mine), exist_ok=True)
                os.link(path, mine)
            except OSError:
                pass  # it is here already, or it was purged
        self._borrowed = len(published)

    def _find_written(self, since: float) -> Iterator[str]:
        for root, _, names in os.walk(self.cache):
            for name in names:
                path = os.path.join(root, name)
                try:
                    recent = os.lstat(path).st_mtime >= since - _SLACK
                except OSError:
                    continue
                if recent:
                    yield path

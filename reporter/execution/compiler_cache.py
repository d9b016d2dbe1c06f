"""The compiler cache of the warm-up, kept from run to run because checking the CPU's vector units
takes seconds.

A warm-up that was killed may have left half a file, which inductor would load as it is. So a
marker with the process id and the name of its machine stands in the folder while a warm-up uses it;
whoever finds one takes a private folder instead, and one whose process is gone condemns the whole
folder. A list of the files that were whole when a warm-up ended is lent from, also while the next
one is under way: inductor never writes a file anew that is there.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import re
import shutil
import socket
import time
from pathlib import Path

HEADERS = "precompiled_headers"
#: The marker of a warm-up that uses the folder.
IN_PROGRESS = "warm-up-in-progress"
_LIST = "complete-files"
_COMPILED_HEADER = ".gch"
#: Seconds after which a warm-up of another machine has ended or was killed.
_LONGEST_WARM_UP = 3600.0


def prepare_warm_folder(python: Path, otherwise: Path) -> Path:
    """Where the warm-up cache of an interpreter lies, which outlives the run; the folder is made.

    Args:
        python: the interpreter, by whose path the folder is named.
        otherwise: a folder of the run, below which it lies if the home is read-only.
    """
    warm_cache = name_warm_folder(python)
    try:
        warm_cache.mkdir(parents=True, exist_ok=True)
    except OSError:  # it costs seconds, not the run
        return otherwise / warm_cache.name
    return warm_cache


def name_warm_folder(python: Path) -> Path:
    """The folder in the user's cache, whether it is there or not."""
    import platformdirs

    digest = hashlib.sha256(str(python).encode()).digest()[:6]
    name = str(int.from_bytes(digest, "big"))
    return platformdirs.user_cache_path("bugreport", appauthor=False) / "warm" / name


class WarmCache:
    """One user's claim to the cache in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._marker = folder / IN_PROGRESS
        self._claimed = False

    def claim(self) -> Path | None:
        """The folder, now marked as in use; None while another warm-up, living or killed, has
        it.
        """
        try:
            if self._marker.exists() and not _lives(self._marker):
                shutil.rmtree(self._folder)
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._marker.open("x") as file:
                file.write(f"{os.getpid()} {socket.gethostname()}")
        except OSError:
            return None
        self._claimed = True
        return self._folder

    def release(self) -> None:
        """The warm-up is complete, and so is every file."""
        if not self._claimed:
            return
        self._claimed = False
        with contextlib.suppress(OSError):
            names = [
                str(path.relative_to(self._folder))
                for part in self._folder.iterdir()
                if _is_lent(part)
                for path in part.rglob("*")
                if path.is_file()
            ]
            written = self._folder / f"{_LIST}.part"
            written.write_text("\n".join(sorted(names)), encoding="utf-8")
            written.replace(self._folder / _LIST)
        self._marker.unlink(missing_ok=True)

    def borrow(self, folder: Path) -> Path:
        """A folder of one's own with what is whole in the cache, for a warm-up beside another."""
        prefill(folder, self._folder, with_prefix=True)
        link_headers(folder / HEADERS, self._folder)
        return folder


def _lives(marker: Path) -> bool:
    """Whether the process that left a marker is still there; one that is just being written is, and
    one of another machine with the same home is for an hour.
    """
    try:
        number, _, host = marker.read_text().partition(" ")
        if host and host != socket.gethostname():
            return time.time() - marker.stat().st_mtime < _LONGEST_WARM_UP
        os.kill(int(number), 0) if number else None
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _is_lent(part: Path) -> bool:
    """Whether a folder in a cache is one for compiled files or for precompiled headers."""
    return part.is_dir() and (len(part.name) == 2 or part.name == HEADERS)


def _list_whole_files(warm_cache: Path | None) -> list[Path]:
    """The files of a cache that were whole when a warm-up ended, relative to it; none before
    that.
    """
    try:
        text = (warm_cache / _LIST).read_text(encoding="utf-8") if warm_cache is not None else ""
    except (OSError, ValueError):
        return []
    return [Path(line) for line in text.splitlines()]


def is_ready(warm_cache: Path) -> bool:
    """Whether a warm-up has been through here, so that a fresh process is spared the checks of the
    toolchain.
    """
    return any(len(path.parts[0]) == 2 for path in _list_whole_files(warm_cache))


def prefill(cache: Path, warm_cache: Path | None, with_prefix: bool = False) -> None:
    """Give a new cache the checks of the C++ toolchain that a warm-up has made, and nothing
    compiled from a program.

    They depend on the machine and the compiler only, cost ten seconds, and are found by the hash of
    their source.

    Args:
        cache: the folder for TORCHINDUCTOR_CACHE_DIR; it is made where it is missing.
        warm_cache: the cache of the warm-up; where it is None, or the warm-up has not ended,
            nothing is copied.
        with_prefix: link the compiled header of kernels as well, which torch of these releases
            would not have.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for path in _list_whole_files(warm_cache):
        if warm_cache is None or len(path.parts[0]) != 2:
            continue
        with contextlib.suppress(OSError):  # another run has condemned it, another file system
            (cache / path).parent.mkdir(parents=True, exist_ok=True)
            if path.suffix != _COMPILED_HEADER:
                shutil.copy2(warm_cache / path, cache / path)
            elif with_prefix:
                os.link(warm_cache / path, cache / path)


def lend_headers(temporary: Path, warm_cache: Path | None) -> None:
    """Link torch's precompiled C++ headers to where a process looks for them.

    They are found by the hash of their text, compiler and flags, take ten seconds and 150 MB each,
    and hold nothing of a program.

    Args:
        temporary: the TMPDIR of the process.
        warm_cache: the cache of the warm-up that compiled them; None: nothing is linked.
    """
    try:
        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (KeyError, OSError, ImportError):
        return
    link_headers(temporary / f"torchinductor_{user}" / HEADERS, warm_cache)


def link_headers(target: Path, warm_cache: Path | None) -> None:
    """Link the precompiled headers of a warm-up's cache into a folder; none before it is whole.

    Args:
        target: is made where there is something to link.
        warm_cache: the cache; None: nothing is linked.
    """
    for path in _list_whole_files(warm_cache):
        if warm_cache is not None and path.parts[0] == HEADERS and path.match("*.h*"):
            target.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):  # another file system: it is only slower then
                os.link(warm_cache / path, target / path.name)

"""One folder for all temporary files of this process, so that a run which was killed leaves nothing
behind for good: the next one finds the folder, sees that nobody holds its lock, and removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_PREFIX = "bugreport-"
_LOCK, _ALIAS = "lock", "t"
#: The address of a Unix socket has 107 bytes at most on Linux, 103 on macOS; what is made below the
#: folder needs some 40 of them.
_LONGEST = 60


@contextmanager
def use_own_temporary_folder() -> Iterator[None]:
    """Within it `tempfile` makes files and folders in a folder of this process, which goes at the
    end; folders of processes that were killed go first.

    Where none can be made (a full or read-only disk), everything is as without it: whoever needs a
    file will say what is wrong. A path that would be too long for the address of a socket is
    replaced by that of a link in `/tmp`.
    """
    before = tempfile.tempdir
    with ExitStack() as stack:
        with suppress(OSError):
            tempfile.tempdir = str(_make_short_folder(stack))
        try:
            yield
        finally:
            tempfile.tempdir = before


def _make_short_folder(stack: ExitStack) -> Path:
    """A locked folder, under a path that is short enough.

    Raises:
        OSError: there is no place where one can be made.
    """
    folder = stack.enter_context(_make_locked_folder(Path(tempfile.gettempdir())))
    if len(os.fsencode(folder)) <= _LONGEST:
        return folder
    alias = stack.enter_context(_make_locked_folder(Path("/tmp"))) / _ALIAS
    alias.symlink_to(folder)
    return alias


def find_shared_temporary_folder() -> Path:
    """The folder that the system or the user gave for temporary files, shared with others."""
    folder = Path(tempfile.gettempdir()).resolve()
    return folder.parent if (folder / _LOCK).exists() else folder


@contextmanager
def _make_locked_folder(place: Path) -> Iterator[Path]:
    """A new folder in `place`, which goes at the end; abandoned ones go first.

    Raises:
        OSError: it cannot be made, or not be locked.
    """
    _remove_abandoned(place)
    folder, lock = _create(place)
    try:
        yield folder
    finally:
        try:
            _remove(folder)
        finally:
            os.close(lock)


def _create(place: Path) -> tuple[Path, int]:
    """The folder, and the open file that holds its lock.

    Raises:
        OSError: it cannot be made, or not be locked.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        with ExitStack() as stack:
            stack.callback(_remove, folder)
            lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, lock)
            with suppress(OSError):  # on a disk without locks nobody takes it for abandoned
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink:
                stack.pop_all()
                return folder, lock
            # another process took it for abandoned, between two lines


def _remove_abandoned(place: Path) -> None:
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # not one of these, or gone
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # its process lives, or the file system knows no locks
        else:
            _remove(folder)
        finally:
            os.close(lock)


def _remove(folder: Path) -> None:
    """Removes a folder, its lock at the end: what an interruption leaves is found by the lock."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)

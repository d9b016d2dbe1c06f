"""Of all processes that send the same report, one at a time: a lock that the operating system takes
away with the process.

A file lock and not a row in the store, because a row outlives a process that was killed and then
means nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from reporter.core.errors import UsageError

_STEP = 0.1  # seconds between two tries


@contextlib.contextmanager
def lock(paths: Iterable[Path], waiting: Callable[[], None]) -> Iterator[None]:
    """Holds all of the locks, taken in the order given; `waiting` is called once if another process
    has one.

    Raises:
        UsageError: a lock file cannot be made, or its folder is on a disk without locks.
    """
    with contextlib.ExitStack() as stack:
        said = False
        for path in paths:
            descriptor = _open(path)
            stack.callback(os.close, descriptor)
            while not _try_lock(descriptor, path.parent):
                if not said:
                    waiting()
                    said = True
                time.sleep(_STEP)
        yield


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Whether no other process has this lock, which is held meanwhile; its file goes with it.

    It is not held either where the file cannot be made or locked.
    """
    descriptor = _open_and_lock(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            # while it is held: whoever has opened the file sees that it is gone
            with contextlib.suppress(OSError):
                os.unlink(path)
            os.close(descriptor)


def _open_and_lock(path: Path) -> int | None:
    """The open file of a lock that is held; None where another process has it, or there is none."""
    while True:
        with contextlib.ExitStack() as stack:
            try:
                descriptor = _open(path)
                stack.callback(os.close, descriptor)
                if not _try_lock(descriptor, path.parent):
                    return None
            except UsageError:
                return None
            if os.fstat(descriptor).st_nlink:
                stack.pop_all()
                return descriptor


def name_lock_file(store: Path, *words: str) -> Path:
    """The lock file for a subject, in a folder beside the store; an empty file that may stay."""
    name = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    return store.parent / f"{store.name}.locks" / name


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise UsageError(
            f"the lock {path} cannot be made ({error.strerror}); make that folder writable"
        ) from None


def require_locks(path: Path) -> None:
    """Makes sure that a lock file at this path can be made and locked.

    Raises:
        UsageError: it cannot.
    """
    descriptor = _open(path)
    try:
        _try_lock(descriptor, path.parent)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, folder: Path) -> bool:
    import fcntl  # where there is none, the rest of the tool works

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise UsageError(
            f"files in {folder} cannot be locked ({error.strerror}), so that two processes could"
            " file the same report; set BUGREPORT_STORE to a file in a folder on a local disk"
        ) from None
    return True

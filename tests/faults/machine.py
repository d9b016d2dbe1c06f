"""What a run says on a machine that lacks something: `python -m tests.faults.machine`.

Each condition has to end in a report, or in one sentence with a documented exit code; never in an
internal error. What needs the right to mount is skipped without it.
"""

from __future__ import annotations

import contextlib
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.__main__ import Place
from tests.support import preload
from tests.support.places import ROOT

#: The exit codes that a run may end in.
PERMITTED = (0, 1, 2, 125)


@contextlib.contextmanager
def small(folder: Path, size: str = "40k", options: str = "") -> Iterator[None]:
    """A file system of that size in place of a folder. Raises OSError without the right to it."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def full(place: Place, which: str) -> Iterator[None]:
    """A full disk under the output, the temporary files, the cache or the data."""
    folders = {
        "output": place.report,
        "temporary": place.temporary,
        "cache": place.folder / "cache",
        "data": place.folder / "data",
    }
    place.environment["XDG_CACHE_HOME"] = str(folders["cache"])
    place.environment["XDG_DATA_HOME"] = str(folders["data"])
    with small(folders[which]):
        yield


@contextlib.contextmanager
def read_only_home(place: Place) -> Iterator[None]:
    """A home that nothing can be written to."""
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        place.environment.pop(name, None)
    with small(place.folder / "home", options=",ro"):
        yield


@contextlib.contextmanager
def no_home(place: Place) -> Iterator[None]:
    """A home that does not exist, and cannot be made."""
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        place.environment.pop(name, None)
    place.environment["HOME"] = "/proc/no-home"
    yield


@contextlib.contextmanager
def no_shared_memory(place: Place) -> Iterator[None]:
    """`/dev/shm` without a byte to spare, in a mount namespace of the run's own."""
    place.environment["BUGREPORT_FAULT_WRAP"] = "mount -t tmpfs -o ro tmpfs /dev/shm"
    yield


@contextlib.contextmanager
def few_descriptors(place: Place) -> Iterator[None]:
    """64 descriptors for each process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def store(place: Place, how: str) -> Iterator[None]:
    """A store that is cut, garbled, locked or of a newer version."""
    path = place.folder / "store.sqlite3"
    place.environment["BUGREPORT_STORE"] = str(path)
    subprocess.run(
        [sys.executable, "-m", "reporter", "list", "--json"],
        cwd=ROOT,
        env=place.environment,
        capture_output=True,
        check=False,
    )
    data = path.read_bytes() if path.exists() else b""
    lock: sqlite3.Connection | None = None
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "garbled":
        path.write_bytes(b"\x07" * max(len(data), 4096))
    else:
        lock = sqlite3.connect(path, isolation_level=None)
        if how == "newer":
            lock.execute("PRAGMA user_version = 9999")
        else:
            lock.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        if lock is not None:
            lock.close()


@contextlib.contextmanager
def preloaded(place: Place, what: str) -> Iterator[None]:
    """A data folder without locks, or a clock that jumps."""
    library = preload.build(place.folder)
    if library is None:
        raise OSError("no C compiler")
    data = place.folder / "home"
    place.environment |= (
        preload.jumping_clock(library) if what == "clock" else preload.without_locks(library, data)
    )
    yield


Condition = Callable[[Place], contextlib.AbstractContextManager[None]]
CONDITIONS: dict[str, Condition] = {
    "full output": lambda place: full(place, "output"),
    "full temporary folder": lambda place: full(place, "temporary"),
    "full cache": lambda place: full(place, "cache"),
    "full data folder": lambda place: full(place, "data"),
    "read-only home": read_only_home,
    "no home": no_home,
    "no /dev/shm": no_shared_memory,
    "64 descriptors": few_descriptors,
    "store cut": lambda place: store(place, "cut"),
    "store garbled": lambda place: store(place, "garbled"),
    "store locked": lambda place: store(place, "locked"),
    "store of a newer version": lambda place: store(place, "newer"),
    "data folder without locks": lambda place: preloaded(place, "locks"),
    "a clock that jumps": lambda place: preloaded(place, "clock"),
}


def attempt(name: str, folder: Path, caches: Path) -> tuple[int, str]:
    """Exit code and last word of a quick `create` under one condition."""
    place = Place(folder, caches)
    with CONDITIONS[name](place):
        words = ["create", "--quick", "--no-input", "--python", sys.executable]
        words += ["-o", str(place.report), "--force", str(place.script)]
        command = [sys.executable, "-m", "reporter", *words]
        wrap = place.environment.pop("BUGREPORT_FAULT_WRAP", "")
        if wrap:
            command = ["unshare", "-m", "sh", "-c", f'{wrap}; exec "$@"', "sh", *command]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=place.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    said = [line for line in done.stderr.splitlines() if line.startswith("bugreport:")]
    return done.returncode, said[-1][:200] if said else ""


def main() -> int:
    """Exit code 0 if no condition ended in an internal error."""
    bad = 0
    with tempfile.TemporaryDirectory(prefix="brf-") as name:
        caches = Path(name) / "caches"
        caches.mkdir()
        chosen = sys.argv[1:] or list(CONDITIONS)
        for number, condition in enumerate(chosen):
            try:
                code, said = attempt(condition, Path(name) / f"machine-{number}", caches)
            except OSError as error:
                print(f"{condition:26} skipped: {error}", flush=True)
                continue
            good = code in PERMITTED and (code == 0 or bool(said))
            bad += not good
            print(f"{condition:26} {'good' if good else 'BAD '} {code:4} {said}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

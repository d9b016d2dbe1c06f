"""The command line of bubblewrap, built from nothing: what is not named here does not exist inside.

New namespaces for everything (no network, no processes of others, no shared memory), a new session
(no typing into the user's terminal), no capabilities, no further user namespaces. Inside, `/tmp` is
all that can be written to: home, working folder and temporary files, one memory file system of a
fixed size.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from reporter.core.errors import CannotJudgeError
from reporter.sandbox import watch
from reporter.sandbox.limits import MIB, Limits
from reporter.sandbox.view import View, build_system_view

HOME = "/tmp/home"
WORK = "/tmp/work"
CACHE = "/tmp/cache"
_WAY_OUT = "or read the code and give --trust to run it without a sandbox"
_TO_BECOME_ANOTHER = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_FIRST_USER, _USERS = 1 << 30, 1 << 29
_counter = itertools.count()
# Everything that a process inside finds in its environment, with what the caller adds.
VARIABLES = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "TMPDIR": "/tmp",
    "USER": "user",
    "LOGNAME": "user",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "TORCHINDUCTOR_CACHE_DIR": CACHE,
}


def find_bwrap() -> str:
    """The path of bwrap.

    Raises:
        CannotJudgeError: it is missing, too old, or not allowed to work.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise CannotJudgeError(
            "code of others runs in a sandbox only, and bubblewrap is missing; install it (package"
            f" bubblewrap), {_WAY_OUT}"
        )
    problem = _find_problem(found)
    if problem is not None:
        raise CannotJudgeError(
            f"code of others runs in a sandbox only, and bubblewrap does not work here ({problem});"
            f" allow user namespaces for it, {_WAY_OUT}"
        )
    return found


@functools.lru_cache(maxsize=4)
def _read_abilities(bwrap: str) -> str:
    return subprocess.run([bwrap, "--help"], capture_output=True, text=True, timeout=30).stdout


@functools.lru_cache(maxsize=4)
def _find_problem(bwrap: str) -> str | None:
    """Why it does not work, found out by trying; None if it does."""
    if "--size" not in _read_abilities(bwrap):
        return "it is older than version 0.7 and cannot limit the size of a file system"
    for name in ("prlimit", "setpriv"):
        if shutil.which(name) is None:
            return f"the program {name} of util-linux is missing"
    command = [*build_arguments(bwrap, View(), {}, {}, Limits(), {}), "true"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip().splitlines()
    return None if done.returncode == 0 else (said[-1] if said else f"exit {done.returncode}")


def build_arguments(
    bwrap: str,
    view: View,
    files: Mapping[str, Path],
    folders: Mapping[str, Path],
    limits: Limits,
    variables: Mapping[str, str],
) -> list[str]:
    """The command line up to the command that is to run.

    Args:
        files: name in the working folder inside, and the file outside that is shown there.
        folders: the same for absolute paths inside, read-only.
    """
    words = [bwrap, *_list_namespaces(bwrap), "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in {**VARIABLES, **variables}.items():
        words += ["--setenv", name, value]
    words += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", "/tmp"]
    for folder in (HOME, WORK, CACHE):
        words += ["--perms", "0777", "--dir", folder]
    words += ["--perms", "0755", "--dir", "/var", "--symlink", "../tmp", "/var/tmp"]
    words += _show(build_system_view() + view)
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--perms", "1777", "--size", str(min(limits.disk, 256 * MIB)), "--tmpfs", "/dev/shm"]
    for name, path in files.items():
        words += ["--ro-bind", str(path), f"{WORK}/{name}"]
    for inside, path in folders.items():
        words += ["--ro-bind", str(path), inside]
    # what bubblewrap builds these two from is memory without a limit
    words += ["--remount-ro", "/dev", "--remount-ro", "/"]
    words += [
        "--chdir",
        WORK,
        "--",
        "prlimit",
        *limits.list_prlimit_options(),
        f"--nproc={_limit_tasks(limits)}",
        "--",
    ]
    return [*words, *(_give_up_root() if _is_root() else ())]


def _list_namespaces(bwrap: str) -> list[str]:
    """New ones of every kind.

    Root gets no user namespace, but becomes somebody else afterwards (`_give_up_root`).
    """
    if _is_root():
        kinds = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
        needed = [word for name in _TO_BECOME_ANOTHER for word in ("--cap-add", name)]
        return [
            *kinds,
            "--unshare-cgroup-try",
            "--hostname",
            "sandbox",
            "--cap-drop",
            "ALL",
            *needed,
        ]
    words = ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    words += ["--hostname", "sandbox", "--cap-drop", "ALL"]
    return [*words, "--disable-userns"] if "--disable-userns" in _read_abilities(bwrap) else words


def _give_up_root() -> list[str]:
    """The command that gives root up for a user that nobody is: the kernel counts no processes of
    root, and root may read everything.
    """
    number = str(_FIRST_USER + (os.getpid() << 6) % _USERS + next(_counter) % 64)
    words = ["setpriv", "--reuid", number, "--regid", number, "--clear-groups"]
    return [*words, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"]


def _is_root() -> bool:
    """Whether we are root of the machine, not only of a container's user namespace."""
    try:
        whole = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    except OSError:
        whole = True
    return os.geteuid() == 0 and whole


def _limit_tasks(limits: Limits) -> int:
    """RLIMIT_NPROC: before Linux 5.14 it counts the user's tasks everywhere, so those that are
    there already come on top.
    """
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    if release >= (5, 14) or _is_root():
        return limits.tasks
    return limits.tasks + watch.count_tasks(os.getuid())


def _show(view: View) -> Sequence[str]:
    words: list[str] = []
    # bubblewrap would make the folders on the way as closed as the home that they lie in
    ways = {str(way) for path in view.shown for way in Path(path).parents} - {"/", "/tmp"}
    for way in sorted(ways):
        words += ["--perms", "0755", "--dir", way]
    for path in view.shown:
        words += ["--ro-bind", path, path]
    for target, path in view.links:
        words += ["--symlink", target, path]
    return words

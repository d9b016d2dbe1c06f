"""The command line of bubblewrap: what is not in it does not exist inside, so each word of it
counts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.sandbox import Limits, bubblewrap, watch
from reporter.sandbox.limits import MIB
from reporter.sandbox.view import View

LIMITS = Limits(memory=64 * MIB, disk=512 * MIB, tasks=30, cpu=5)
WORKS = '[ "$1" = --help ] && echo "--size BYTES --disable-userns"\nexit 0\n'


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bubblewrap that can do everything, and nothing else to be found.

    What a bubblewrap can do is remembered by its path, and each test has a path of its own.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bwrap", "prlimit", "setpriv"):
        program(folder / name, WORKS)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return str(path)


def user(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: number)
    monkeypatch.setattr(os, "getuid", lambda: number)
    text = "0 0 4294967295\n"
    monkeypatch.setattr(Path, "read_text", lambda self: text)


def arguments(bwrap: str, **more: object) -> list[str]:
    given = {"view": View(), "files": {}, "folders": {}, "limits": LIMITS, "variables": {}}
    return bubblewrap.build_arguments(bwrap, **{**given, **more})  # type: ignore[arg-type]


def has(words: Sequence[str], *wanted: str) -> bool:
    """Whether the words stand there one behind the other."""
    return any(tuple(words[i : i + len(wanted)]) == wanted for i in range(len(words)))


def test_everything_is_unshared_for_root_who_becomes_somebody_else(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user(monkeypatch, 0)
    words = arguments(str(tools / "bwrap"))
    assert words[:5] == [
        str(tools / "bwrap"),
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
    ]
    assert has(words, "--unshare-cgroup-try", "--hostname", "sandbox", "--cap-drop", "ALL")
    kept = {words[i + 1] for i, word in enumerate(words) if word == "--cap-add"}
    assert kept == {"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"}
    assert words[-10] == "setpriv" and words[-11] == "--"
    number = words[-8]
    assert words[-9:-4] == ["--reuid", number, "--regid", number, "--clear-groups"]
    assert words[-4:] == ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"]
    assert 1 << 30 <= int(number) < 3 << 29
    assert "--unshare-user" not in words


def test_each_sandbox_of_root_is_a_user_of_its_own(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user(monkeypatch, 0)
    numbers = {arguments(str(tools / "bwrap"))[-8] for _ in range(64)}
    assert len(numbers) == 64
    another = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: another)
    assert arguments(str(tools / "bwrap"))[-8] not in numbers


def test_an_ordinary_user_gets_a_user_namespace_and_may_make_no_other(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user(monkeypatch, 1000)
    words = arguments(str(tools / "bwrap"))
    assert words[1:3] == ["--unshare-all", "--unshare-user"]
    assert has(words, "--uid", "1000", "--gid", "1000", "--hostname", "sandbox")
    assert has(words, "--cap-drop", "ALL", "--disable-userns")
    assert "--cap-add" not in words and "setpriv" not in words and words[-1] == "--"
    program(tools / "old", 'echo "--size BYTES"\n')
    assert "--disable-userns" not in arguments(str(tools / "old"))


def test_root_of_a_container_is_an_ordinary_user(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user(monkeypatch, 0)
    monkeypatch.setattr(Path, "read_text", lambda self: "0 100000 65536\n")
    assert "--unshare-all" in arguments(str(tools / "bwrap"))


def test_root_is_root_where_the_kernel_has_no_user_namespaces(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: Path) -> str:
        raise FileNotFoundError(self)

    user(monkeypatch, 0)
    monkeypatch.setattr(Path, "read_text", missing)
    assert "--unshare-all" not in arguments(str(tools / "bwrap"))


def test_nothing_outlives_the_tool_and_nothing_of_its_terminal_or_environment_gets_in(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "secret")
    words = arguments(str(tools / "bwrap"), variables={"PATH": "/opt/bin", "EXTRA": "1"})
    assert has(words, "--die-with-parent", "--new-session", "--clearenv", "--setenv")
    pairs = {words[i + 1]: words[i + 2] for i, word in enumerate(words) if word == "--setenv"}
    assert pairs == {
        "PATH": "/opt/bin",
        "EXTRA": "1",
        "HOME": "/tmp/home",
        "TMPDIR": "/tmp",
        "USER": "user",
        "LOGNAME": "user",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/cache",
    }


def test_what_can_be_written_to_is_memory_of_a_fixed_size(tools: Path) -> None:
    words = arguments(str(tools / "bwrap"))
    assert has(words, "--perms", "1777", "--size", str(512 * MIB), "--tmpfs", "/tmp")
    assert has(words, "--perms", "1777", "--size", str(256 * MIB), "--tmpfs", "/dev/shm")
    for folder in ("/tmp/home", "/tmp/work", "/tmp/cache"):
        assert has(words, "--perms", "0777", "--dir", folder)
    assert has(words, "--perms", "0755", "--dir", "/var", "--symlink", "../tmp", "/var/tmp")
    assert words.count("--tmpfs") == 2 and "--bind" not in words and "--dev-bind" not in words
    assert has(words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp/work", "--")


def test_shared_memory_is_never_more_than_the_disk(tools: Path) -> None:
    words = arguments(str(tools / "bwrap"), limits=Limits(disk=5 * MIB))
    assert has(words, "--size", str(5 * MIB), "--tmpfs", "/dev/shm")


def test_processes_and_devices_are_its_own(tools: Path) -> None:
    assert has(arguments(str(tools / "bwrap")), "--proc", "/proc", "--dev", "/dev")


def test_files_and_folders_are_shown_read_only(tools: Path, tmp_path: Path) -> None:
    words = arguments(
        str(tools / "bwrap"),
        files={"repro.py": tmp_path / "a"},
        folders={"/seed": tmp_path / "b"},
        view=View(("/opt/env/lib",), (("python3", "/opt/env/python"),)),
    )
    assert has(words, "--ro-bind", str(tmp_path / "a"), "/tmp/work/repro.py")
    assert has(words, "--ro-bind", str(tmp_path / "b"), "/seed")
    assert has(words, "--ro-bind", "/opt/env/lib", "/opt/env/lib")
    assert has(words, "--symlink", "python3", "/opt/env/python")
    assert has(words, "--ro-bind", "/usr", "/usr")
    # the way to it can be gone, though what lies beside it is not shown
    assert has(words, "--perms", "0755", "--dir", "/opt", "--perms", "0755", "--dir", "/opt/env")
    assert not has(words, "--dir", "/") and not has(words, "--perms", "0755", "--dir", "/tmp")


def test_the_kernels_limits_are_set_before_the_command_runs(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release="5.14.0-generic"))
    user(monkeypatch, 1000)
    words = arguments(str(tools / "bwrap"))
    assert has(words, "--", "prlimit", *LIMITS.list_prlimit_options(), "--nproc=30", "--")


@pytest.mark.parametrize(
    ("release", "number", "limit"),
    [
        ("5.13.9", 1000, 37),
        ("4.18.0", 1000, 37),
        ("5.14.0", 1000, 30),
        ("6.1.55", 1000, 30),
        ("5.4.0", 0, 30),
    ],
)
def test_an_old_kernel_counts_what_the_user_has_already(
    release: str, number: int, limit: int, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=release))
    monkeypatch.setattr(watch, "count_tasks", lambda who: 7 if who == number else 1000)
    user(monkeypatch, number)
    assert f"--nproc={limit}" in arguments(str(tools / "bwrap"))


def test_a_bubblewrap_that_works_is_used(tools: Path) -> None:
    assert bubblewrap.find_bwrap() == str(tools / "bwrap")


def test_without_bubblewrap_it_is_told_how_to_get_on(tools: Path) -> None:
    (tools / "bwrap").unlink()
    with pytest.raises(CannotJudgeError, match="missing; install it .package bubblewrap.*--trust"):
        bubblewrap.find_bwrap()


def test_a_bubblewrap_that_cannot_limit_a_file_system_is_refused(tools: Path) -> None:
    program(tools / "bwrap", "exit 0\n")
    with pytest.raises(CannotJudgeError, match="older than version 0.7"):
        bubblewrap.find_bwrap()


@pytest.mark.parametrize("name", ["prlimit", "setpriv"])
def test_without_a_program_of_util_linux_it_is_refused(name: str, tools: Path) -> None:
    (tools / name).unlink()
    with pytest.raises(CannotJudgeError, match=f"the program {name} of util-linux is missing"):
        bubblewrap.find_bwrap()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo first >&2; echo no permission >&2; exit 1\n", r"\(no permission\); allow user"),
        ("exit 3\n", r"\(exit 3\)"),
    ],
)
def test_a_bubblewrap_that_fails_is_refused_with_its_last_words(
    text: str, said: str, tools: Path
) -> None:
    program(tools / "bwrap", f'[ "$1" = --help ] && echo "--size" && exit 0\n{text}')
    with pytest.raises(CannotJudgeError, match=said):
        bubblewrap.find_bwrap()


def test_a_bubblewrap_that_never_answers_is_refused(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = subprocess.run
    asked = []

    def run(command: list[str], **options: object) -> object:
        if command[-1] != "true":
            return true(command, **options)  # type: ignore[call-overload]
        asked.append(command)
        raise subprocess.TimeoutExpired(command, 30)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(CannotJudgeError, match="timed out"):
        bubblewrap.find_bwrap()
    assert asked[0][0] == str(tools / "bwrap")

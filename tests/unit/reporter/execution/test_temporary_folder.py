"""A process has its temporary files in one folder, and what a killed one left goes with another."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reporter.execution.temporary_folder import (
    find_shared_temporary_folder,
    use_own_temporary_folder,
)

ENTERS = """
import os, sys, tempfile
from reporter.execution.temporary_folder import use_own_temporary_folder
with use_own_temporary_folder():
    print(tempfile.mkdtemp(), flush=True)
    sys.stdin.readline()
    os._exit(9)
"""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder for temporary files, whose path is short."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(name)


def start(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has made a temporary folder, and dies without tidying up when it is told."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENTERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    made = Path(process.stdout.readline().strip())
    assert made.parent.parent == place
    return process, made


def test_files_lie_in_one_folder_that_goes_at_the_end(place: Path) -> None:
    with use_own_temporary_folder():
        folder = Path(tempfile.gettempdir())
        assert folder.parent == place and find_shared_temporary_folder() == place
        assert Path(tempfile.mkdtemp()).parent == folder
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(place.iterdir()) == []
    assert Path(tempfile.gettempdir()) == place == find_shared_temporary_folder()


def test_a_path_too_long_for_a_socket_gets_a_short_name(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = place.joinpath("a" * 100, "b" * 100)
    far.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(far))
    with use_own_temporary_folder():
        folder = Path(tempfile.mkdtemp())
        assert folder.resolve().is_relative_to(far) and find_shared_temporary_folder() == far
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(folder / "s"))
        alias = folder.parent.parent
    assert not alias.exists() and list(far.iterdir()) == []


def test_an_exception_leaves_nothing(place: Path) -> None:
    with pytest.raises(KeyError), use_own_temporary_folder():
        raise KeyError
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_a_living_one_uses_stays(place: Path) -> None:
    living, used = start(place)
    killed, left = start(place)
    killed.communicate("\n")
    assert killed.returncode == 9 and left.exists()
    with use_own_temporary_folder():
        assert used.exists() and not left.parent.exists()
    living.communicate("\n")
    with use_own_temporary_folder():
        assert not used.parent.exists()


def test_a_removal_that_is_interrupted_is_gone_on_with(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.rmtree

    def interrupted(path: Path, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), use_own_temporary_folder():
        Path(tempfile.mkdtemp(), "file").write_text("")
    monkeypatch.setattr(shutil, "rmtree", real)
    assert len(list(place.iterdir())) == 1
    with use_own_temporary_folder():
        pass
    assert list(place.iterdir()) == []


def test_folders_of_others_stay(place: Path, tmp_path: Path) -> None:
    (place / "bugreport-of-somebody").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (place / "bugreport-link").symlink_to(elsewhere)
    with use_own_temporary_folder():
        pass
    assert {path.name for path in place.iterdir()} == {"bugreport-of-somebody", "bugreport-link"}
    assert (elsewhere / "lock").exists()


def test_without_a_folder_for_them_nothing_changes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with use_own_temporary_folder():
        assert Path(tempfile.gettempdir()) == place

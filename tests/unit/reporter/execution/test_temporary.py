"""A process has its temporary files in one folder, and what a killed one left goes with the next."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from reporter.execution.temporary import own_temporary_folder, shared_temporary_folder

ENTERS = """
import os, sys, tempfile
from reporter.execution.temporary import own_temporary_folder
with own_temporary_folder():
    print(tempfile.mkdtemp(), flush=True)
    sys.stdin.readline()
    os._exit(9)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


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
    with own_temporary_folder():
        folder = Path(tempfile.gettempdir())
        assert folder.parent == place and shared_temporary_folder() == place
        assert Path(tempfile.mkdtemp()).parent == folder
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(place.iterdir()) == []
    assert Path(tempfile.gettempdir()) == place == shared_temporary_folder()


def test_an_exception_leaves_nothing(place: Path) -> None:
    with pytest.raises(KeyError), own_temporary_folder():
        raise KeyError
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_a_living_one_uses_stays(place: Path) -> None:
    living, used = start(place)
    killed, left = start(place)
    killed.communicate("\n")
    assert killed.returncode == 9 and left.exists()
    with own_temporary_folder():
        assert used.exists() and not left.parent.exists()
    living.communicate("\n")
    with own_temporary_folder():
        assert not used.parent.exists()


def test_folders_of_others_stay(place: Path) -> None:
    (place / "bugreport-of-somebody").mkdir()
    elsewhere = place.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (place / "bugreport-link").symlink_to(elsewhere)
    with own_temporary_folder():
        pass
    assert {path.name for path in place.iterdir()} == {"bugreport-of-somebody", "bugreport-link"}
    assert (elsewhere / "lock").exists()


def test_without_a_folder_for_them_nothing_changes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with own_temporary_folder():
        assert Path(tempfile.gettempdir()) == place

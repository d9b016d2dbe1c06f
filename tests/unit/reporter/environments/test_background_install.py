"""What is installed beside a command ends with it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from reporter.environments.background_install import install_in_background


def _write_whole(path: Path, text: str) -> None:
    """Whoever waits for the file finds all of it."""
    part = path.with_name("part")
    part.write_text(text)
    part.rename(path)


def _note(texts: Sequence[str]) -> None:
    _write_whole(Path(texts[0]) / "noted", " ".join(texts[1:]))


def _start_installer(texts: Sequence[str]) -> None:
    installer = subprocess.Popen(["sleep", "600"])
    _write_whole(Path(texts[0]) / "pid", str(installer.pid))
    installer.wait()


def _wait_for(path: Path) -> str:
    while not path.exists():
        time.sleep(0.01)
    return path.read_text()


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_the_releases_are_installed_meanwhile(tmp_path: Path) -> None:
    with install_in_background((str(tmp_path), "2.6.0", "latest"), _note):
        assert _wait_for(tmp_path / "noted") == "2.6.0 latest"


def test_what_is_not_installed_by_the_end_is_given_up_with_its_installer(tmp_path: Path) -> None:
    with install_in_background((str(tmp_path),), _start_installer):
        pid = int(_wait_for(tmp_path / "pid"))
        assert _is_alive(pid) and os.getpgid(pid) != os.getpgid(0)
    while _is_alive(pid):
        time.sleep(0.01)


def test_nothing_is_started_where_nothing_is_asked(tmp_path: Path) -> None:
    with install_in_background((), _note):
        pass
    assert not (tmp_path / "noted").exists()

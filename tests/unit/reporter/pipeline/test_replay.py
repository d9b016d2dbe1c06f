"""The recorded call of a report, again: what is said where there is none."""

from __future__ import annotations

from pathlib import Path

from tests.support.created import command


def test_a_folder_without_a_recording_is_named(tmp_path: Path) -> None:
    done = command("replay", tmp_path, cwd=tmp_path)
    assert done.returncode == 2 and str(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr

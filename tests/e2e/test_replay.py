"""The recorded call of a report, again and without the script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.created import bugreport, create


@pytest.mark.slow
def test_the_whole_program_is_replayed_and_still_fails(tmp_path: Path) -> None:
    created = create("foobar", tmp_path)
    assert created.code == 0, created.talk
    (tmp_path / "script.py").unlink()
    done = bugreport("replay", "--json", created.folder, cwd=tmp_path)
    (row,) = json.loads(done.stdout)["results"]
    assert done.returncode == 1 and row["outcome"] == "reproduces", done.stderr
    program = Path(row["path"])
    assert program.is_relative_to(created.folder / "private" / "replay")
    assert program.stat().st_mode & 0o077 == 0
    # before any reduction: the layers behind the failing operation are there
    assert len(program.read_text()) > len(created.repro) and "_foobar" in program.read_text()

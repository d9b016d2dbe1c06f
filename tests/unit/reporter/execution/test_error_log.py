"""Where the traceback of an unforeseen error goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.execution.error_log import write_error_log
from reporter.execution.temporary_folder import use_own_temporary_folder


@pytest.mark.parametrize("blocked", ["home", "logs"])
def test_the_log_outlives_the_process_where_the_home_takes_none(
    blocked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, home = tmp_path / "tmp", tmp_path / "home"
    shared.mkdir()
    if blocked == "home":
        home.write_text("a file where a folder is looked for")
    else:
        (home / "bugreport").mkdir(parents=True)
        (home / "bugreport" / "log").write_text("and here")
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    with use_own_temporary_folder():
        log = write_error_log(ValueError("a detail"))
    assert log is not None and log.parent == shared and "a detail" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_there_may_be_no_place_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(taken))
    monkeypatch.setattr("tempfile.tempdir", str(taken))
    assert write_error_log(ValueError("a detail")) is None

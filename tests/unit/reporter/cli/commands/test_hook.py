"""`bugreport hook` prints the one folder that ever reaches a user's path."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.cli.main import run


def test_the_folder_holds_one_name_for_everybody(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hook"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    names = [path.name for path in folder.iterdir() if path.name != "__pycache__"]
    assert names == ["bugreport"]

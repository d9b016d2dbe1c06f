"""`env` of interpreters with real releases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.cli.main import run


@pytest.mark.parametrize("name", ["v20", "v213"])
def test_env_names_a_real_release_and_no_home_folder(
    name: str, release_python: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["env", "--json", "--python", str(release_python(name))]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["environment"]["torch"].startswith("2.")
    assert str(Path.home()) not in json.dumps(document)

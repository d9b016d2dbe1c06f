"""What comes out of the sandbox is one marked line, whatever went wrong in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.triage import sandbox_run
from reporter.triage.sandboxed_verdict import MARK


@pytest.mark.parametrize("verb", ["diagnose", "create"])
def test_what_the_tool_refuses_is_told_with_its_exit_code(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "repro.py").write_text("import torch\n")
    sandbox_run.main(verb, str(tmp_path / "no-python"), "1", "10", "1")
    (line,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith(MARK)]
    answer = json.loads(line.removeprefix(MARK))
    assert answer["exit_code"] == 2 and "no-python" in answer["error"]
    assert not (tmp_path / "report").exists()

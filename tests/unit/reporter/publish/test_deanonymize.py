"""The command that translates an answer reads the mapping of the report itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.publish.deanonymize import deanonymize


def test_the_command_reads_the_reports_own_mapping(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="private/mapping.json"):
        deanonymize(tmp_path, None)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "mapping.json").write_text(json.dumps({"names": {"op1": "tilt"}}))
    answer = tmp_path / "answer.txt"
    answer.write_text("op1 is fixed\n")
    assert deanonymize(tmp_path, str(answer)).text == "tilt is fixed\n"
    with pytest.raises(UsageError, match=r"cannot be read"):
        deanonymize(tmp_path, str(tmp_path / "nothing.txt"))
    (tmp_path / "private" / "mapping.json").write_text("[1]")
    with pytest.raises(UsageError, match=r"cannot be read"):
        deanonymize(tmp_path, str(answer))

"""The command that translates an answer reads the mapping of the report itself."""

from __future__ import annotations

import io
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


def test_an_answer_in_another_encoding_is_read_and_a_damaged_mapping_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "private").mkdir()
    mapping = tmp_path / "private" / "mapping.json"
    mapping.write_text(json.dumps({"names": {"op1": "tilt"}}))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"op1 is caf\xe9\n"), "utf-8"))
    assert deanonymize(tmp_path, "-").text == "tilt is caf\N{REPLACEMENT CHARACTER}\n"
    mapping.write_text(json.dumps({"names": 3}))
    answer = tmp_path / "answer.txt"
    answer.write_text("op1\n")
    with pytest.raises(UsageError, match="cannot be read"):
        deanonymize(tmp_path, str(answer))

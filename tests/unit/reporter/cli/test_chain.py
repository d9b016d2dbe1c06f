"""`create --file`: refused before the long run where it would be refused after it, and a failure to
file keeps the report.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from reporter.cli.main import run
from reporter.core.settings import Options
from tests.support.github.submitter import WORDS
from tests.support.github.tracker import Fault, Tracker


@dataclass
class PublicModel:
    """Stands for a finished `create`."""

    folder: Path | None
    exit_code: int = 0

    def to_json(self) -> dict[str, object]:
        return {"schema_version": 1, "verdict": {"kind": "crash"}}

    def summarize(self) -> list[str]:
        return ["report: written"]


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch, report: Path) -> list[Options]:
    seen: list[Options] = []

    def create(options: Options) -> PublicModel:
        seen.append(options)
        return PublicModel(report)

    module = ModuleType("reporter.pipeline.create")
    module.__dict__.update(create=create)
    monkeypatch.setattr(
        "reporter.check.report_releases.try_releases", lambda result, *_, **__: result
    )
    monkeypatch.setitem(sys.modules, "reporter.pipeline.create", module)
    return seen


GIVEN = ["--file", "-R", "pytorch/pytorch", "--yes", "--summary", WORDS]
REFUSED = [
    (["--yes"], "needs --file"),
    (["--web"], "needs --file"),
    (["--file", "--yes", "--summary", WORDS], "not said where to file"),
    (["--file", "-R", "pytorch/pytorch", "--yes"], "sentence of your own"),
    (["--file", "-R", "pytorch/pytorch", "--summary", WORDS], "somebody who says yes"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_what_cannot_be_filed_is_refused_before_the_run(
    options: list[str],
    says: str,
    tracker: Tracker,
    created: list[Options],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["create", *options, "train.py"]) == 2
    assert says in capsys.readouterr().err and created == []


def test_one_document_has_both(
    tracker: Tracker, created: list[Options], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["create", "--json", *GIVEN, "train.py"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"]["kind"] == "crash" and document["filing"]["action"] == "filed"
    assert len(created) == 1 and len(tracker.repo.issues) == 1


def test_a_failure_to_file_keeps_the_report(
    tracker: Tracker, created: list[Options], capsys: pytest.CaptureFixture[str]
) -> None:
    tracker.faults = [Fault("repos/get", status=401, message="Bad credentials", times=2)]
    assert run(["create", "--json", *GIVEN, "train.py"]) == 4
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["verdict"] and document["filing"]["error"]["exit_code"] == 4
    assert "refuses the token" in captured.err and "files it" in captured.err
    assert run(["create", *GIVEN, "train.py"]) == 4
    out = capsys.readouterr().out
    assert out.startswith("report: written\n") and "refuses the token" in out

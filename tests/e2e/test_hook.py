"""Programs that ask for a report themselves get a whole one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.programs import program
from tests.support.scripts import script, text
from tests.support.waiting import until


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_long_run_that_meets_a_bug_gets_a_report_beside_it(context: str, tmp_path: Path) -> None:
    words = (str(script("hook/long_run")), context, "accuracy")
    done = program(tmp_path, *words, python=interpreter.WARM)
    assert done.returncode == 0 and done.stdout.endswith("over\n"), done.stderr
    assert done.stderr.count("a report is made beside it") == 1
    report = tmp_path / "watched" / "report.json"
    until(report.exists, "the report", patience=3600)
    assert '"wrong_result"' in report.read_text() and "estrel" not in report.read_text()


@pytest.mark.slow
def test_a_block_becomes_a_report(tmp_path: Path) -> None:
    (tmp_path / "tallies.py").write_text(text("entry_points/tallies"))
    (tmp_path / "train.py").write_text(text("hook/block"))
    words = ("train.py", "create", "-o", "report", "-j", "2")
    done = program(tmp_path, *words, python=interpreter.WARM)
    assert done.stdout == "it goes on 0 crash True\n[]\n", done.stderr
    assert {"issue.md", "repro.py", "report.json"} <= {
        path.name for path in (tmp_path / "report").iterdir()
    }

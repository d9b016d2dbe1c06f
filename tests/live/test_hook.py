"""Programs that ask for a report themselves: a block, a long run, a test session, each with a real
bug of torch.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.programs import program
from tests.support.scripts import script, text


def test_a_block_gets_its_verdict_and_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "tallies.py").write_text(text("entry_points/tallies"))
    (tmp_path / "train.py").write_text(text("hook/block"))
    done = program(tmp_path, "train.py", "diagnose", python=interpreter.WARM)
    assert done.stdout == "it goes on 0 crash False\n[]\n", done.stderr
    assert "verdict: crash in dynamo (bug)" in done.stderr
    assert set(os.listdir(tmp_path)) - {"__pycache__"} == {"tallies.py", "train.py"}


@pytest.mark.slow
def test_a_long_run_is_compared_in_passing(tmp_path: Path) -> None:
    """Afterwards the tool and the latest copies are there, on a busy machine some that still end;
    of the twelve comparisons most have left nothing.
    """
    done = program(tmp_path, str(script("hook/long_run")), "fork", python=interpreter.WARM)
    assert done.returncode == 0, done.stderr
    match = re.fullmatch(r"steps 120 children (\d)\n", done.stdout)
    assert match and int(match.group(1)) <= 4
    assert "bugreport" not in done.stderr and not (tmp_path / "watched").exists()


def test_tests_with_a_finding_stand_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "tallies.py").write_text(text("entry_points/tallies"))
    (tmp_path / "test_tally.py").write_text(text("hook/tests_of_tally"))
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "bugreport.pytest"]
    words = (*command, "--bugreport-verb", "diagnose")
    done = program(tmp_path, *words, python=interpreter.WARM, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "test_tally.py::" in line]
    assert lines == ["test_tally.py::test_wrong: crash in dynamo"]

"""Candidates in fresh processes, as a reader of the report would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.execution.fresh_process import run_cold
from tests.support.places import ROOT
from tests.support.scripts import text
from tests.support.waiting import PATIENCE, is_running, until, words_of

PYTHON = Path(sys.executable)
#: text, outcome, signal, exit
ENDINGS = {
    "own error": ("raise ValueError('mine')", "fails", None, 1),
    "segfault": ("import ctypes; ctypes.string_at(0)", "died", "SIGSEGV", -11),
    "cannot judge": ("import sys; sys.exit(125)", "cannot_judge", None, 125),
    "exit 3": ("import sys; sys.exit(3)", "fails", None, 3),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_cold_run_is_the_plain_command(name: str) -> None:
    program, *ending = ENDINGS[name]
    answer = run_cold(PYTHON, program, PATIENCE)
    assert [answer.outcome, answer.signal, answer.exit] == ending
    assert answer.failure is None


def test_a_cold_run_that_does_not_end_is_stopped() -> None:
    assert run_cold(PYTHON, "import time\nwhile True: time.sleep(1)", 0.2).outcome == "timeout"


def test_a_described_run_has_no_variable_of_the_warm_worker() -> None:
    variables = (
        "import os; print([n for n in os.environ"
        " if n.startswith(('TORCHINDUCTOR_F', 'PYTHONHASH'))])"
    )
    assert run_cold(PYTHON, variables, PATIENCE, describe=True).stdout == "[]\n"


def test_a_fresh_process_does_not_survive_the_death_of_the_host(tmp_path: Path) -> None:
    """What hangs would else keep a core busy for ever."""
    host = subprocess.Popen(
        [sys.executable, "-c", text("pool/host_of_a_fresh_process"), PYTHON, tmp_path],
        stdin=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ,
    )
    assert host.stdin is not None
    host.stdin.write(text("pool/never_ends").encode())
    host.stdin.close()
    program, _ = map(int, words_of(tmp_path / "NOTE", 2))
    assert is_running(program)
    host.kill()
    host.wait()
    until(lambda: not is_running(program), "the end of the program")

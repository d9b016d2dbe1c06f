"""What a program that means no harm finds in the real sandbox, and what is told of its end.

No test of this module may run a program that means harm: `make mutants` runs it while the sandbox
has a fault.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.sandbox import Limits, SandboxResult, make_sandbox
from reporter.sandbox.limits import MIB
from tests.support import interpreter
from tests.support.sandbox import needs_bubblewrap
from tests.support.scripts import text
from tests.support.waiting import PATIENCE

LIMITS = Limits(
    seconds=PATIENCE,
    memory=256 * MIB,
    tasks=48,
    file=8 * MIB,
    disk=48 * MIB,
    output=4096,
    flood=8 * MIB,
)


@pytest.fixture(autouse=True)
def a_sandbox() -> None:
    needs_bubblewrap()


def runs(
    program: str, limits: Limits = LIMITS, clock: Iterator[float] | None = None, trust: bool = False
) -> list[SandboxResult]:
    python = interpreter.COLD
    with make_sandbox(
        [str(python), "repro.py"],
        python=python,
        files={"repro.py": program},
        limits=limits,
        trust=trust,
    ) as box:
        if clock is not None:
            box.clock = lambda: float(next(clock))
        return [box.run()]


def test_a_limit_is_told_in_words() -> None:
    seconds = itertools.count()
    (result,) = runs("import time; time.sleep(3600)", limits=Limits(seconds=1), clock=seconds)
    assert (result.ending, result.exit) == ("timeout", None)
    assert result.detail == "did not end within 1 seconds"


def test_an_ordinary_program_has_what_it_needs() -> None:
    (result,) = runs(text("sandbox/needs_its_tools"))
    assert result.stdout.split("\n")[:2] == ["3", "/tmp/work /tmp/home ['repro.py']"], result


@pytest.mark.parametrize(
    ("line", "ending", "signal"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal", "SIGSEGV"),
        ("import os; os.abort()", "signal", "SIGABRT"),
        ("while True: pass", "cpu", None),
        ("import sys; sys.exit(7)", "exited", None),
    ],
)
def test_how_it_ended_is_told(line: str, ending: str, signal: str | None) -> None:
    (result,) = runs(line, limits=Limits(seconds=PATIENCE, cpu=1))
    assert (result.ending, result.signal) == (ending, signal)
    assert result.exit == (7 if ending == "exited" else None if ending == "cpu" else result.exit)


def test_output_keeps_its_beginning_and_its_end() -> None:
    (result,) = runs("print('first'); print('x' * 100000); print('last')")
    assert result.stdout.startswith("first") and result.stdout.endswith("last\n")
    assert "bytes left out" in result.stdout and len(result.stdout) < LIMITS.output + 100


def test_without_bubblewrap_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotJudgeError, match="bubblewrap is missing.*--trust"):
        make_sandbox(["true"])


def test_where_bubblewrap_cannot_work_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --help ] && echo "--size BYTES" && exit 0\n'
        'echo "bwrap: No permissions to create new namespace" >&2; exit 1\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(CannotJudgeError, match="No permissions to create new namespace"):
        make_sandbox(["true"])


def test_trusted_code_runs_without_a_sandbox_but_with_a_clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_canary_of_this_test")
    line = "import os; print(sorted(os.environ), os.listdir('.'), os.getcwd())"
    (result,) = runs(line, trust=True)
    assert result.contained is False and result.exit == 0
    assert "GITHUB_TOKEN" not in result.stdout and "['repro.py']" in result.stdout


def test_a_program_that_speaks_like_bubblewrap_has_only_failed() -> None:
    line = "import sys; sys.exit('bwrap: read the code and give --trust')"
    (result,) = runs(line)
    assert (result.ending, result.exit) == ("exited", 1)

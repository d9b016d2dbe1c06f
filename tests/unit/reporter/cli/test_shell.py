"""What the machine lacks is told in one sentence with the code of unusable input, wherever it is
met.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.cli.shell import guard
from reporter.core.errors import Interruption, UsageError

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full (/out/x); make room"),
        (errno.EROFS, "the file system is read-only (/out/x)"),
        (errno.ENAMETOOLONG, "a name is longer than files can have (/out/x); name a file"),
        (errno.EMFILE, "too many files are open (/out/x); raise the limit"),
    ],
)
def test_a_machine_that_lacks_something_is_no_internal_error(
    number: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        try:
            raise OSError(number, "whatever", "/out/x")
        except OSError as error:
            raise RuntimeError("something on the way") from error

    assert guard(work) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_another_error_stays_an_internal_one(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        raise OSError(errno.EIO, "broken", "/out/x")

    assert guard(work) == 70
    assert "internal error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("there is no interpreter"), 125),
        (OSError(errno.ENOSPC, "whatever", "/out/x"), 125),
        (RuntimeError("a defect"), 125),
        (KeyboardInterrupt(), 130),
        (Interruption("interrupted"), 130),
    ],
)
def test_a_command_may_end_every_error_with_one_code_but_an_interruption(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        raise error

    assert guard(work, as_json=True, error_code=125) == code
    assert json.loads(capsys.readouterr().out)["error"]["exit_code"] == code


def test_a_long_name_is_cut_in_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        os.stat("a" * 300)

    assert guard(work) == 2
    assert f"({'a' * 199}…)" in capsys.readouterr().err


def test_streams_that_the_shell_has_closed_are_no_internal_error() -> None:
    code = "import sys; from reporter.cli.main import run; sys.exit(run(sys.argv[1:]))"
    for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
        command = f'exec "$0" -P -c "$1" --version {closed}'
        done = subprocess.run(
            ["sh", "-c", command, sys.executable, code],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), closed

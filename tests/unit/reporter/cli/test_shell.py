"""What the machine lacks is told in one sentence with the code of unusable input, wherever it is
met.
"""

from __future__ import annotations

import errno
import json

import pytest

from reporter.cli.shell import guard
from reporter.core.errors import Interruption, UsageError


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full (/out/x); make room"),
        (errno.EROFS, "the file system is read-only (/out/x)"),
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

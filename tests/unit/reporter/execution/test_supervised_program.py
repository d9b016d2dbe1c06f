"""A program under its supervisor: how it ended, and that neither ends alone. No torch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reporter.execution.supervised_program import SupervisedProgram


def program(text: str, **options: object) -> SupervisedProgram:
    return SupervisedProgram([sys.executable, "-IS", "-c", text], **options)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os._exit(255)", 255),
        ("import os; os.kill(os.getpid(), 11)", -signal.SIGSEGV),
    ],
)
def test_the_exit_code_is_the_programs_own(text: str, code: int) -> None:
    given = program(text)
    assert given.wait() == given.poll() == given.returncode == code
    assert given.lost is None


def test_the_program_has_a_session_of_its_own_and_keeps_its_streams() -> None:
    given = program(
        "import os; print(os.getsid(0) == os.getpid(), os.getsid(os.getppid()) == os.getppid())",
        stdout=subprocess.PIPE,
    )
    assert given.stdout is not None
    assert given.stdout.read() == b"True True\n"
    assert given.wait() == 0


def test_descriptors_are_handed_on() -> None:
    read, write = os.pipe()
    given = program(f"import os; os.write({write}, b'here')", pass_fds=(write,))
    os.close(write)
    assert given.wait() == 0
    assert os.read(read, 9) == b"here"
    os.close(read)


def test_a_program_that_ends_its_parent_is_ended_and_told() -> None:
    given = program(
        "import os, time; os.kill(os.getppid(), 9); print(os.getpid(), flush=True); time.sleep(99)",
        stdout=subprocess.PIPE,
    )
    assert given.stdout is not None
    given.wait()
    assert given.lost == "SIGKILL"
    number = given.stdout.read().split()
    assert not number or _is_gone(int(number[0]))


def test_ending_it_ends_what_it_started_in_its_session(tmp_path: Path) -> None:
    given = program(
        "import os, time\n"
        "child = os.fork()\n"
        f"child and open({str(tmp_path / 'pid')!r}, 'w').write(str(child) + ' ')\n"
        "time.sleep(99)"
    )
    while not (tmp_path / "pid").exists() or " " not in (tmp_path / "pid").read_text():
        time.sleep(0.01)
    given.end()
    assert given.returncode == -signal.SIGKILL
    assert _is_gone(int((tmp_path / "pid").read_text()))


def test_it_ends_with_the_tool() -> None:
    tool = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from reporter.execution.supervised_program import SupervisedProgram\n"
            "words = [sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True);"
            " time.sleep(99)']\n"
            "made = SupervisedProgram(words)\n"
            "time.sleep(99)",
        ],
        stdout=subprocess.PIPE,
    )
    assert tool.stdout is not None
    number = int(tool.stdout.readline())
    tool.kill()
    tool.wait()
    assert _is_gone(number)


def test_a_command_that_is_not_there_ends_with_127() -> None:
    given = SupervisedProgram(["/nowhere/python"], stderr=subprocess.PIPE)
    assert given.wait() == 127


def _is_gone(pid: int) -> bool:
    """Waits for the end of a process; one that nobody has waited for is over, too."""
    for _ in range(2000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False

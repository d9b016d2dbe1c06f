"""`check` of an issue: its program runs in the sandbox, and what it has to show is what the issue
says.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from reporter.check.arguments import CheckArguments
from reporter.check.check import check
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.environments.selection import Selection
from reporter.sandbox.watch import measure_usage
from tests.support import interpreter
from tests.support.github.fixtures import tracker, waits
from tests.support.github.submitter import RecordedPrompt
from tests.support.github.tracker import Tracker
from tests.support.places import DATA, ROOT
from tests.support.sandbox import needs_bubblewrap
from tests.support.waiting import PATIENCE, until

__all__ = ["tracker", "waits"]
MADE = DATA / "made_issues"


def test_an_issue_is_fetched_and_its_program_stays_in_the_sandbox(
    tracker: Tracker, tmp_path: Path
) -> None:
    needs_bubblewrap()
    tracker.add_issue("It fails", (MADE / "loud.md").read_text().replace("HOME", str(tmp_path)))
    tracker.add_issue("It fails too", "No code at all.")
    names = ("pytorch/pytorch#1", "https://github.com/pytorch/pytorch/issues/2")
    selection = Selection(python=(str(interpreter.COLD),))
    found = check(
        CheckArguments(names),
        selection,
        ProcessOptions(jobs=1),
        TalkOptions(no_input=True),
        RecordedPrompt(),
    )
    assert [row.outcome for row in found.results] == ["reproduces", "cannot_judge"]
    assert found.results[0].detail == "SystemError: False"  # it did not see our files
    assert found.results[1].detail.startswith("no repro found")
    assert [row.issue for row in found.results] == ["pytorch/pytorch#1", "pytorch/pytorch#2"]
    assert tracker.count("issues/create-comment") == 0


def test_ctrl_c_ends_what_runs_in_the_sandbox(tmp_path: Path) -> None:
    """Not only the run that is under way: an issue is run several times."""
    needs_bubblewrap()
    environment = {**os.environ, "TMPDIR": str(tmp_path), "BUGREPORT_STORE": str(tmp_path / "s")}
    python = str(interpreter.COLD)
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "reporter", "check", str(MADE / "hangs.md")),
            *("--python", python, "--timeout", "3600"),
        ],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        words = [python, "repro.py"]
        until(lambda: words in programs_of(process.pid) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        talk = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130 and "interrupted" in talk and "Traceback" not in talk
    assert not list(tmp_path.glob("bugreport-sandbox-*"))


def programs_of(root: int) -> list[list[str]]:
    """The command lines of a process and of everything that it has started."""
    found = []
    for pid in measure_usage(root).pids:
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1])
    return found

"""`bugreport file` and `check --comment` as commands: a terminal's questions, a browser, and what a
check says of an issue.
"""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import command
from tests.support.github.notifying import comments
from tests.support.github.submitter import WORDS, environment, run_file
from tests.support.github.tracker import TOKEN, Tracker
from tests.support.places import ROOT


def on_a_terminal(
    *words: str | Path, typed: str = "", variables: dict[str, str]
) -> tuple[int, str, str]:
    """Exit code, stdout, and what stood on the terminal, which is stdin and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reporter", *words],
        cwd=ROOT,
        env=variables,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    talk: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, talk))
    reader.start()
    out, _ = process.communicate()
    reader.join()
    os.close(ours)
    return process.returncode, out, b"".join(talk).decode()


def _read(descriptor: int, parts: list[bytes]) -> None:
    """Until nobody has the other side any more, which Linux calls an error."""
    try:
        while part := os.read(descriptor, 65_536):
            parts.append(part)
    except OSError:
        pass


def test_a_person_is_asked_on_the_terminal_and_stdout_has_the_result(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    """No output has the token."""
    code, out, talk = on_a_terminal(
        *("file", report, "-R", "pytorch/pytorch"),
        typed=f"{WORDS}\ny\n",
        variables=environment(tracker, tmp_path / "store.sqlite3"),
    )
    assert code == 0, talk
    assert (
        "Your sentence:" in talk
        and "File this in pytorch/pytorch? [y] yes, send it, [n] no, send nothing:" in talk
    )
    assert "https://github.com/pytorch/pytorch/issues/1" in out.splitlines()
    assert WORDS in tracker.repo.issues[0]["body"] and TOKEN not in out + talk


def test_the_browser_gets_no_token(tracker: Tracker, report: Path, tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\n{{ echo "$@"; env; }} > {seen}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    code, _, talk = on_a_terminal(
        *("file", report, "-R", "pytorch/pytorch", "--web"),
        variables={
            **environment(tracker, tmp_path / "s"),
            "BROWSER": str(browser),
            "GITHUB_TOKEN": TOKEN[::-1],
        },
    )
    assert code == 0, talk
    text = seen.read_text()
    assert "template=pt2-bug-report.yml&title=" in text and "PATH=" in text
    assert "_TOKEN" not in text and TOKEN not in text and TOKEN[::-1] not in text


@pytest.mark.slow
def test_check_tells_an_issue_that_was_closed_too_early(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    run_file(report)
    tracker.repo.issues[0].update(state="closed", state_reason="completed")
    words = ["check", report, "--python", interpreter.WARM, "--comment", "--json", "--fresh"]
    refused = command(*words, "--no-input", cwd=tmp_path)
    assert refused.returncode == 2 and "add --yes" in refused.stderr
    for number in (1, 0):
        done = command(*words, "--yes", cwd=tmp_path)
        document = json.loads(done.stdout)
        assert done.returncode == 1 and len(document["comments"]) == number, done.stderr
    assert len(comments(tracker)) == 1 and "still reproduces on torch" in comments(tracker)[0]

"""A token goes to its host and nowhere else: no child process, no log, no sentence."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reporter import target
from reporter.cli import shell
from reporter.interpreter import ask
from reporter.reduce.answer import clean_environment
from tests.github.conftest import environment
from tests.github.tracker import TOKEN, Tracker

NAMES = ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]


@pytest.mark.parametrize("name", NAMES)
def test_no_way_of_starting_a_process_hands_a_token_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("HF_TOKEN", "the user's own, which a script may need")
    assert name not in target.environment() and name not in clean_environment(os.environ)
    assert "HF_TOKEN" in target.environment()
    child = ask(Path(sys.executable), "import os; answer(names=sorted(os.environ))")["names"]
    assert name not in child and "HF_TOKEN" in child


def test_the_browser_gets_no_token(tracker: Tracker, report: Path, tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\n{{ echo "$@"; env; }} > {seen}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "reporter", "file", str(report), "-R", "pytorch/pytorch", "--web"],
        cwd=Path(__file__).resolve().parents[2],
        env={
            **environment(tracker, tmp_path / "s"),
            "BROWSER": str(browser),
            "GITHUB_TOKEN": TOKEN[::-1],
        },
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=60,
        check=True,
    )
    os.close(theirs)
    os.close(ours)
    text = seen.read_text()
    assert "template=pt2-bug-report.yml&title=" in text and "PATH=" in text
    assert "_TOKEN" not in text and TOKEN not in text and TOKEN[::-1] not in text


def test_an_internal_error_keeps_the_token_to_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def work() -> None:
        shell.say(f"said {TOKEN}")
        raise ZeroDivisionError(f"Authorization: token {TOKEN}")

    assert shell.guard(work) == 70
    captured = capsys.readouterr()
    assert captured.out == "said <GH_TOKEN>\n" and TOKEN not in captured.err
    (log,) = tmp_path.rglob("*.log")
    assert "token <GH_TOKEN>" in log.read_text() and TOKEN not in log.read_text()


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\x07b", "a\x9b31mb", "a\rb"])
def test_the_last_word_before_the_terminal_has_no_control_characters(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.say(text)
    shell.talk(text + "\r\n\tkept")
    captured = capsys.readouterr()
    assert not set(captured.out) & set("\x1b\x07\x9b\r") and "\r\n\tkept" in captured.err

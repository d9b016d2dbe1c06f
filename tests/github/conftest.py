"""A tracker per test, a report to file, and somebody who answers its questions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reporter import tokens
from reporter.filed import Filed, Shown
from reporter.filing import check_wanted, file
from reporter.settings import Options
from tests.github.tracker import TOKEN, Tracker, api

REPORTS = Path(__file__).parents[1] / "data" / "reports"
WORDS = "Training stops here since we moved to this release."


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Tracker]:
    """A GitHub on this machine, which the tool is told to use; a request or an answer that is not GitHub's fails the test."""
    for name in [*tokens.held(), "GH_HOST"]:
        monkeypatch.delenv(name, raising=False)
    api()  # parsing the description takes longer than a request may
    server = Tracker()
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.setenv("BUGREPORT_GITHUB_API", server.base)
    monkeypatch.setenv("BUGREPORT_GITHUB_TIMEOUT", "0.2")
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store.sqlite3"))
    with server.running():
        yield server
    assert not server.violations


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report folder as `create` wrote it, of a real failure of torch 2.13.0, without its private folder."""
    return copied("foobar", tmp_path / "report")


def copied(name: str, to: Path) -> Path:
    shutil.copytree(REPORTS / name, to)
    (to / "private").mkdir(mode=0o700)
    return to


@dataclass
class Somebody:
    """Sits at the terminal, and answers `answers` in turn; running out of them fails the test."""

    answers: list[str] = field(default_factory=list)
    is_there: bool = True
    shown: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def show(self, line: str) -> None:
        self.shown.append(line)

    def say(self, line: str) -> None:
        self.said.append(line)

    def ask(self, question: str) -> str:
        self.said.append(question)
        return self.answers.pop(0)

    def choose(self, question: str, answers: Mapping[str, str]) -> str:
        answer = self.ask(question)
        assert answer in answers, (question, answer)
        return answer

    def open(self, url: str) -> bool:
        self.opened.append(url)
        return True


Run = Callable[..., "Filed | Shown"]


def run_file(
    folder: Path,
    person: Somebody | None = None,
    *,
    comment_on: int | None = None,
    **options: object,
) -> Filed | Shown:
    """`bugreport file` in this process; by default with --yes and a sentence, in pytorch/pytorch."""
    if person is None:
        person = Somebody(is_there=False)
        options = {"yes": True, "summary": WORDS, **options}
    given = Options(**{"repo": "pytorch/pytorch", **options})  # type: ignore[arg-type]
    return file(folder, check_wanted(given, person, comment_on), person)


def environment(tracker: Tracker, store: Path) -> dict[str, str]:
    """For the tool as a process of its own."""
    return {
        **os.environ,
        "GH_TOKEN": TOKEN,
        "BUGREPORT_GITHUB_API": tracker.base,
        "BUGREPORT_GITHUB_TIMEOUT": "0.2",
        "BUGREPORT_STORE": str(store),
    }

"""Who files reports in tests, with what, and by which clock."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reporter.core.errors import BugreportError
from reporter.core.settings import Options
from reporter.store.database import open_store
from reporter.store.filings import FilingState, find_filing
from reporter.store.reports import compute_key
from reporter.tracker.filing import check_wanted, file
from reporter.tracker.outcome import FilingResult, PreviewResult
from tests.support.github.tracker import TOKEN, Tracker
from tests.support.places import DATA

REPORTS = DATA / "reports"
WORDS = "Training stops here since we moved to this release."
#: Seconds for an answer that does come, on a machine that may have much else to do.
PATIENCE = 120.0


@dataclass
class Waits:
    """A clock that nothing moves but `sleep`, which takes no time; `all` has the seconds of each
    sleep.
    """

    all: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return sum(self.all)

    def sleep(self, seconds: float) -> None:
        self.all.append(seconds)


@dataclass
class RecordedPrompt:
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


def copied(name: str, to: Path) -> Path:
    """A report of tests/data/reports in a folder of its own."""
    shutil.copytree(REPORTS / name, to)
    (to / "private").mkdir(mode=0o700)
    return to


def other_report(tmp_path: Path) -> Path:
    """A report of the same failure with another repro, so with another key and the same
    fingerprint.
    """
    folder = copied("foobar", tmp_path / "other")
    repro = (folder / "repro.py").read_text()
    changed = repro.replace("manual_seed(0)", "manual_seed(1)")
    assert changed != repro
    (folder / "repro.py").write_text(changed)
    text = (folder / "issue.md").read_text()
    (folder / "issue.md").write_text(text.replace(repro.strip(), changed.strip()))
    return folder


def run_file(
    folder: Path,
    user: RecordedPrompt | None = None,
    *,
    comment_on: int | None = None,
    **options: object,
) -> FilingResult | PreviewResult:
    """`bugreport file` in this process; by default with --yes and a sentence, in
    pytorch/pytorch.
    """
    if user is None:
        user = RecordedPrompt(is_there=False)
        options = {"yes": True, "summary": WORDS, **options}
    given = Options(**{"repo": "pytorch/pytorch", **options})  # type: ignore[arg-type]
    return file(folder, check_wanted(given, user, comment_on), user)


def attempt(folder: Path) -> tuple[int, str]:
    """Files a report: the exit code, and the sentence of the error or what was done."""
    try:
        result = run_file(folder)
    except BugreportError as error:
        assert "\n" not in str(error) and TOKEN not in str(error)
        return error.exit_code, str(error)
    assert isinstance(result, FilingResult)
    return 0, result.action


def state_of(folder: Path) -> FilingState | None:
    """What the store says of a report in pytorch/pytorch."""
    with open_store() as store:
        row = find_filing(store, compute_key((folder / "repro.py").read_text()), "pytorch/pytorch")
    return row.state if row else None


def environment(tracker: Tracker, store: Path) -> dict[str, str]:
    """For the tool as a process of its own."""
    return {
        **os.environ,
        "GH_TOKEN": TOKEN,
        "BUGREPORT_GITHUB_API": tracker.base,
        "BUGREPORT_GITHUB_TIMEOUT": f"{PATIENCE:g}",
        "BUGREPORT_STORE": str(store),
    }

"""`create --bisect`: between which releases the search begins, and what the report then says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.bisect.releases_of_change import name_releases_of_change
from reporter.check.engine import Keep
from reporter.check.work import Task
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.environments import index
from reporter.publish.rerendering import build_rerender_files
from reporter.publish.result import RunResult
from reporter.report.reading import read_report
from templates import issue_forms
from tests.support.checking import result
from tests.support.golden import HOME, issue

FINALS = tuple(index.Offer(f"2.{n}.0", ((3, 11),), index.PYPI) for n in range(16))


class Engine:
    """Answers at once: each release from `broken` up to the one before `fixed` fails."""

    def __init__(self, broken: int, fixed: int) -> None:
        self.failing = range(broken, fixed)
        self.asked: list[str] = []

    def run(self, tasks: list[Task], keep: Keep) -> None:
        for task in tasks:
            label = task.release.label
            self.asked.append(label)
            fails = int(label.split(".")[1]) in self.failing
            outcome = "reproduces" if fails else "fixed"
            keep(result(task, outcome, git=f"{label.replace('.', '')}" + "c0ffee" * 6))


def created(folder: Path, rows: dict[str, str]) -> RunResult:
    """A report of a failure in torch 2.13.0 that knows of some other releases."""
    (folder / "private").mkdir(parents=True)
    for name in ("report.json", "repro.py", "test_repro.py"):
        (folder / name).write_text((HOME / "crash" / name).read_text("utf-8"), "utf-8")
    document = json.loads((folder / "report.json").read_text("utf-8"))
    document["releases"] = [{"torch": torch, "outcome": out} for torch, out in rows.items()]
    document["issue"]["releases"] = {}
    (folder / "report.json").write_text(json.dumps(document), "utf-8")
    text = issue("crash")
    (folder / "issue.md").write_text(text, "utf-8")
    for name, value in build_rerender_files(
        issue_forms.load("pytorch"), {"issue.md": text}
    ).items():
        (folder / "private" / name).write_text(value, "utf-8")
    return RunResult(read_report(document, "the report"), 0, (), folder)


@pytest.mark.parametrize(
    ("rows", "engine", "ends", "says"),
    [
        ({}, Engine(9, 99), ["2.0.0", "2.13.0"], "broken between 2.8.0 and 2.9.0"),
        (
            {"2.6.0": "fixed", "2.12.0": "reproduces"},
            Engine(9, 99),
            ["2.6.0", "2.12.0"],
            "broken between 2.8.0 and 2.9.0",
        ),
        (
            {"2.15.0": "fixed"},
            Engine(0, 14),
            ["2.13.0", "2.15.0"],
            "fixed between 2.13.0+cpu and 2.14.0",
        ),
    ],
)
def test_the_neighbors_of_the_change_are_in_the_issue_with_their_commits(
    rows: dict[str, str],
    engine: Engine,
    ends: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store.sqlite3"))
    monkeypatch.setattr(index, "fetch_offers", lambda place=None: FINALS)
    before = created(tmp_path / "report", rows)
    processes, talk = ProcessOptions(jobs=1), TalkOptions(no_input=True)
    after = name_releases_of_change(before, processes, talk, engine)
    assert engine.asked[:2] == ends
    text = (tmp_path / "report" / "issue.md").read_text("utf-8")
    assert says in text and "(commit 2" in text and "c0ffee" in text
    commits = {row.torch: row.git for row in after.report.releases or ()}
    assert set(engine.asked) <= set(commits) and all(commits[name] for name in engine.asked)

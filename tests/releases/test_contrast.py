"""Fails here, passes there: a regression, from one release to another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.support.created import bugreport, check_report, create


def test_a_regression_is_reported_as_one_and_resumed_as_one(
    tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    here, there = release_python("v213"), release_python("v26")
    made = create("take_randperm_half", tmp_path, here, "--differs-from", str(there), "-j2")
    check_report(made, here)
    (told,) = made.document["differs_from"]
    assert told["torch"].startswith("2.6.0") and told["outcome"] == "passes"
    assert "module: regression" in made.document["labels"]
    assert "- **Regression**: fails on torch 2.13.0" in made.outgoing()["issue.md"]
    assert "regression: fails on torch 2.13.0" in made.talk
    journal = made.folder / "private" / "journal.jsonl"
    known, repro = journal.read_text(), made.repro
    assert str(there) in known.splitlines()[0]
    for path in made.folder.iterdir():  # as an interrupted run leaves it
        if path.name != "private":
            path.unlink()
    done = bugreport("create", "--json", "-j1", "--resume", made.folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["differs_from"] == made.document["differs_from"]
    assert made.repro == repro
    assert journal.read_text() == known  # the same search, whatever the number of jobs


def test_the_number_of_jobs_does_not_change_a_regression(
    tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    here, there = release_python("v213"), release_python("v26")
    made = []
    for jobs in ("1", "3"):
        (tmp_path / jobs).mkdir()
        wanted = ("--differs-from", str(there), "-j", jobs)
        made.append(create("take_randperm_half", tmp_path / jobs, here, *wanted))
    one, three = made
    assert one.code == three.code == 0
    assert one.repro == three.repro
    assert one.document["differs_from"] == three.document["differs_from"]
    for key in ("candidates", "statements", "lines"):
        assert one.document["repro"][key] == three.document["repro"][key]


def test_a_bug_of_both_releases_is_no_difference(
    tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    here, there = release_python("v213"), release_python("v26")
    made = create("toy", tmp_path, here, "--differs-from", str(there))
    assert made.code == 125, made.talk
    assert made.document["verdict"]["is_bug"] and "differs_from" not in made.document
    assert "every program that fails here fails under torch 2.6.0" in made.talk
    assert not (made.folder / "issue.md").exists()

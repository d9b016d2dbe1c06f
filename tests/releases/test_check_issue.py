"""`check`, `bisect` and `triage` of real issues, on the releases that they are about."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reporter.check.work import CheckResult
from tests.support.created import bugreport
from tests.support.places import DATA
from tests.support.sandbox import needs_bubblewrap

ISSUES = DATA / "issues"


#: Issue, and what its program shows release by release.
REAL = [
    ("triu_min.md", {"v26": "reproduces", "v213": "fixed"}),
    ("min_uint8.json", {"v213": "reproduces"}),
    ("any_uint8.md", {"v26": "reproduces"}),
    ("divide_zero.md", {"v26": "reproduces", "v213": "fixed"}),
    ("half_threshold.md", {"v213": "cannot_judge"}),  # what it shows is no bug
]


@pytest.mark.parametrize(("name", "outcomes"), REAL)
def test_real_issues_on_real_releases(
    name: str, outcomes: dict[str, str], tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    needs_bubblewrap()
    places = [word for env in outcomes for word in ("--python", str(release_python(env)))]
    done = bugreport("check", "--json", ISSUES / name, *places, cwd=tmp_path, timeout=3000)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    assert [row["outcome"] for row in rows] == list(outcomes.values()), rows
    assert done.returncode == (1 if "reproduces" in outcomes.values() else 125)
    assert all(msgspec.convert(row, CheckResult).issue == "" for row in rows)


def test_what_fixed_an_issue(tmp_path: Path, release_python: Callable[[str], Path]) -> None:
    needs_bubblewrap()
    places = [w for env in ("v26", "v213") for w in ("--python", str(release_python(env)))]
    words = ["bisect", "--json", "--find-fix", ISSUES / "triu_min.md", *places]
    done = bugreport(*words, cwd=tmp_path, timeout=3000)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["found"], done.stderr
    assert [found[end]["torch"] for end in ("before", "after")] == ["2.6.0", "2.13.0"]


@pytest.mark.skipif(
    not os.environ.get("BUGREPORT_TEST_INSTALL"),
    reason="installs torch from the index, several GB; set BUGREPORT_TEST_INSTALL",
)
def test_triage_runs_on_releases_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_bubblewrap()
    monkeypatch.setenv("BUGREPORT_RELEASES", os.environ["BUGREPORT_TEST_INSTALL"])
    words = ["triage", "--json", "--quick", "--torch", "2.6.0", "--torch", "2.8.0"]
    done = bugreport(*words, ISSUES / "triu_min.md", cwd=tmp_path, timeout=3000)
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (0, "reproduces"), done.stderr
    runs = [(run["torch"].partition("+")[0], run["outcome"]) for run in document["runs"]]
    # vectorized code fails to compile on both
    assert runs == [("2.6.0", "fails"), ("2.8.0", "fails")]

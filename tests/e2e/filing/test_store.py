"""A store that is damaged, or lies where nothing can be locked: a sentence, a copy, and the tool
works on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.store.database import open_store
from tests.support import preload
from tests.support.github.submitter import WORDS, environment
from tests.support.github.tracker import Tracker
from tests.support.places import ROOT
from tests.support.waiting import PATIENCE


def bugreport(*words: str | Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, with further variables."""
    return subprocess.run(
        [sys.executable, "-m", "reporter", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    found = preload.build(tmp_path)
    if found is None:
        pytest.skip("no C compiler for a library that takes locks away")
    return found


def test_where_nothing_can_be_locked_nothing_is_filed(
    library: Path, tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "network"
    folder.mkdir()
    missing = preload.without_locks(library, folder)
    variables = {**environment(tracker, folder / "store"), **missing}
    filing = ("file", report, "-R", "pytorch/pytorch", "--yes", "--summary", WORDS)
    for words in (("list",), filing):
        refused = bugreport(*words, variables=variables)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
        assert "cannot be locked" in refused.stderr and "BUGREPORT_STORE" in refused.stderr
    assert not tracker.repo.issues
    elsewhere = {**variables, "BUGREPORT_STORE": str(tmp_path / "store")}
    filed = bugreport(*filing, variables=elsewhere)
    assert filed.returncode == 0 and len(tracker.repo.issues) == 1, filed.stderr


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_damaged_store_is_kept_beside_a_new_one(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "store"
    with open_store(path):
        pass
    data = path.read_bytes()
    broken = data[: len(data) // 2] if damage == "cut" else data[:100] + b"\7" * len(data)
    path.write_bytes(broken)
    variables = {"BUGREPORT_STORE": str(path)}
    refused = bugreport("list", variables=variables)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "is damaged" in refused.stderr and "begins a new one" in refused.stderr
    (kept,) = tmp_path.glob("store.damaged-*")
    assert kept.name in refused.stderr and kept.read_bytes() == broken
    again = bugreport("list", variables=variables)
    assert again.returncode == 0 and "no report yet" in again.stdout, again.stderr

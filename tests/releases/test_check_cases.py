"""The matrix of several dozen known bugs and false alarms, release by release, against what was
measured when they were collected.

Needs a folder of cases in BUGREPORT_TEST_CASES: `NAME/script.py` with `NAME/truth.json`, whose
`outcome` says of each release what a plain run shows: `ok`, `invalid` (eager fails too, or the
release lacks something), or else a failure.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import RELEASES
from tests.support.created import bugreport

pytestmark = pytest.mark.releases
RIGHT, FAILS, INVALID = "right", "fails", "invalid"
#: What an outcome of `check` says; a program that fails in eager too is for `check` one that fails.
MEANS = {"fixed": {RIGHT}, "reproduces": {FAILS, INVALID}, "different": {FAILS, INVALID}}
MEANS["cannot_judge"] = {INVALID}
#: Where plain runs do not show what the collection says of them.
KNOWN = {
    (
        "rng_order_with_fallback",
        "2.0.1",
    ): "the script needs torch._inductor, which 2.0 does not import",
    (
        "index_oob_embedding_offsets_abort",
        "2.0.1",
    ): "the script prints that no error came, and ends well",
}


def wanted(outcome: str) -> str:
    return {"ok": RIGHT, "invalid": INVALID}.get(outcome, FAILS)


@pytest.mark.skipif(
    not os.environ.get("BUGREPORT_TEST_CASES"),
    reason="no collection of cases; set BUGREPORT_TEST_CASES to its folder",
)
def test_the_matrix_agrees_with_what_was_measured(
    tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    truths = {
        str(path.with_name("script.py")): json.loads(path.read_text())["outcome"]
        for path in sorted(Path(os.environ["BUGREPORT_TEST_CASES"]).glob("*/truth.json"))
    }
    assert len(truths) > 20
    places = {str(release_python(name)): version for name, version in RELEASES.items()}
    words = [word for place in places for word in ("--python", place)]
    results = tmp_path / "results.json"
    done = bugreport("check", *truths, *words, "--results", results, cwd=tmp_path, timeout=14_000)
    assert done.returncode == 1, done.stderr
    rows = json.loads(results.read_text())["results"]
    assert len(rows) == len(truths) * len(places)
    differ = {}
    for row in rows:
        truth = wanted(truths[row["repro"]][places[row["release"]]])
        if truth not in MEANS[row["outcome"]]:
            name = Path(row["repro"]).parent.name
            differ[name, row["torch"]] = f"{truth}, but {row['outcome']} ({row['detail']})"
    assert differ.keys() == KNOWN.keys(), differ

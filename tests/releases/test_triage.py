"""Real issues are judged right, on the releases that they are about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.places import DATA
from tests.support.sandbox import needs_bubblewrap, triage

ISSUES = DATA / "issues"


#: Issue, the torch to run it with, the status, and the verdict's kind and layers that count as
#: right.
REAL = [
    ("triu_min.md", "v26", "reproduces", "crash", ("inductor",)),
    ("triu_min.md", "v213", "not_reproduced", "not_reproduced", ("none",)),
    ("shift_two_blocks.md", "v26", "reproduces", "wrong_result", ("inductor",)),
    ("min_uint8.json", "v213", "reproduces", "wrong_result", ("inductor",)),
    ("divide_zero.md", "v26", "reproduces", "process_death", ("inductor",)),
    ("any_uint8.md", "v213", "reproduces", "wrong_metadata", ("inductor", "decomposition")),
    ("mask_closure.md", "v26", "reproduces", "crash", ("inductor",)),
    ("weakref_tag.md", "v213", "reproduces", "crash", ("dynamo",)),
    ("half_threshold.md", "v213", "no_bug", "precision_cast", ("none",)),
    ("dropout_training.md", "v213", "no_bug", "rng", ("none",)),
]


@pytest.mark.parametrize(("name", "release", "status", "kind", "layers"), REAL)
def test_real_issues_are_judged_right(
    name: str,
    release: str,
    status: str,
    kind: str,
    layers: tuple[str, ...],
    tmp_path: Path,
    release_python: Callable[[str], Path],
) -> None:
    needs_bubblewrap()
    code, document = triage(ISSUES / name, tmp_path, "--quick", "--python", release_python(release))
    assert code == 0
    assert (document["status"], document["verdict"]["kind"]) == (status, kind), document["sentence"]
    assert document["verdict"]["layer"] in layers


def test_the_repro_is_reduced_in_the_sandbox_and_run_on_other_releases(
    tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    needs_bubblewrap()
    code, document = triage(
        ISSUES / "triu_min.md",
        tmp_path,
        "--python",
        release_python("v26"),
        "--python",
        release_python("v213"),
    )
    assert (code, document["status"]) == (0, "reproduces")
    assert [runs["outcome"] for runs in document["runs"]] == ["fails", "passes"]
    minimal = document["minimal"]
    assert minimal["statements"] <= 2
    assert [seen for torch, seen in sorted(minimal["seen"].items())] == ["passes", "fails"]
    assert minimal["text"].rstrip() in document["comment"]

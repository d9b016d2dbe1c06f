"""Whole triages: a real failure, in the sandbox, by a real torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.errors import CannotJudgeError
from reporter.sandbox import bubblewrap
from tests.created import bugreport

ISSUES = Path(__file__).parents[1] / "data" / "issues"
#: Issue, the torch to run it with, the status, and the verdict's kind and layers that count as right.
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


@pytest.fixture(autouse=True)
def needs_bubblewrap() -> None:
    try:
        bubblewrap.program()
    except CannotJudgeError as error:
        pytest.skip(str(error))


def triage(path: Path, tmp_path: Path, *more: str | Path) -> tuple[int, dict[str, Any]]:
    done = bugreport("triage", "--json", "--no-input", *more, path, cwd=tmp_path, timeout=1800)
    assert done.stdout.count("\n{") <= 1
    return done.returncode, json.loads(done.stdout)


def test_a_failure_of_dynamo_is_judged_in_the_sandbox(tmp_path: Path) -> None:
    """No compiler is needed for this one, so it is the quickest that goes all the way."""
    text = (ISSUES / "weakref_tag.md").read_text()
    path = tmp_path / "issue.md"
    path.write_text(text.replace("torch.compile(tag)", 'torch.compile(tag, backend="eager")'))
    code, document = triage(path, tmp_path, "--quick", "--python", sys.executable)
    assert code == 0, document
    assert document["sandbox"] is True
    assert (document["status"], document["runs"][0]["match"]) == ("reproduces", "same")
    assert (document["verdict"]["kind"], document["verdict"]["layer"]) == ("crash", "dynamo")
    assert document["labels"] == ["module: dynamo"]
    assert "The failure shows here" in document["comment"]
    assert str(Path.home()) not in document["comment"]


def test_what_the_machine_lacks_is_told_before_anything_runs(tmp_path: Path) -> None:
    text = (ISSUES / "needs_gpu.md").read_text()
    path = tmp_path / "issue.md"
    path.write_text(text.replace("torch.compile(", "torch.cuda.memory_allocated(); torch.compile("))
    code, document = triage(path, tmp_path, "--python", sys.executable)
    assert (code, document["status"]) == (0, "not_actionable")
    assert document["refusal"]["kind"] == "needs_hardware"
    assert document["runs"] == [] and document["labels"] == []


@pytest.mark.releases
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
    code, document = triage(ISSUES / name, tmp_path, "--quick", "--python", release_python(release))
    assert code == 0
    assert (document["status"], document["verdict"]["kind"]) == (status, kind), document["sentence"]
    assert document["verdict"]["layer"] in layers


@pytest.mark.releases
def test_the_repro_is_reduced_in_the_sandbox_and_run_on_other_releases(
    tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
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


@pytest.mark.slow
def test_a_program_that_takes_everything_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    path.write_text(
        "# torch.compile hangs\n\n```python\nimport torch, os\nkept = []\nwhile True:\n"
        "    kept.append(torch.ones(1 << 24))\n    torch.compile(torch.sin, backend='eager')(kept[0])\n```\n"
    )
    code, document = triage(
        path, tmp_path, "--quick", "--memory", "0.5", "--python", sys.executable
    )
    assert document["runs"][0]["outcome"] in ("stopped", "fails"), document
    assert document["status"] in ("cannot_judge", "different")
    assert code == (125 if document["status"] == "cannot_judge" else 0)

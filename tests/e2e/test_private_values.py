"""What the failure needs of the private tensors themselves: nothing leaves unless its owner names
it, and sizes that stay are listed.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import bugreport
from tests.support.scripts import text


def create(folder: Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(text(script))
    return bugreport(
        "create", "--json", "--no-input", "--force", "--python", interpreter.WARM,
        "-o", folder / "report", *options, folder / "script.py", cwd=folder,
    )  # fmt: skip


@pytest.mark.slow
def test_values_leave_only_when_they_are_named(tmp_path: Path) -> None:
    refused = create(tmp_path, "needs_private_values")
    assert refused.returncode == 125, refused.stderr
    assert "--allow-values" in refused.stderr and "thresholds" in refused.stderr
    assert re.search(r"; [1-9]\d* programs? (was|were) tried;", refused.stderr)
    assert json.loads(refused.stdout)["verdict"]["kind"] == "wrong_result"
    assert not (tmp_path / "report" / "repro.py").exists()

    wrong = create(tmp_path, "needs_private_values", "--allow-values", "threshold")
    assert wrong.returncode == 2 and "thresholds" in wrong.stderr

    allowed = create(tmp_path, "needs_private_values", "--allow-values", "thresholds")
    assert allowed.returncode == 0, allowed.stderr
    repro = (tmp_path / "report" / "repro.py").read_text()
    # the second is the one that the failure needs; one that it does not need may be made readable
    assert re.search(r"torch\.tensor\(\[0\.\d+, 0\.375, 0\.71, 0\.9\]", repro), repro
    assert subprocess.run([interpreter.WARM, "-c", repro], cwd=tmp_path).returncode == 1


def test_a_tensor_too_large_to_be_read_is_refused(tmp_path: Path) -> None:
    script = text("needs_private_values")
    (tmp_path / "big.py").write_text(
        script.replace("Linear(4, 4)", "Linear(4000, 4)").replace("(2, 4)", "(2, 4000)")
    )
    done = bugreport(
        "create", "--no-input", "--python", interpreter.WARM, "-o", tmp_path / "report",
        "--allow-values", "lin.weight", tmp_path / "big.py", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2 and "16,000 numbers are too many" in done.stderr


@pytest.mark.slow
def test_sizes_that_the_failure_needs_are_listed(tmp_path: Path) -> None:
    """They are in no source text: the leak check knows them from the tensors."""
    (tmp_path / "config.json").write_text(json.dumps({"lexemes": 28311, "width": 1289}))
    created = create(tmp_path, "needs_private_size")
    assert created.returncode == 0, created.stderr
    document = json.loads(created.stdout)
    repro = (tmp_path / "report" / "repro.py").read_text()
    assert document["sizes_left"] == [1289] and "1289" in repro
    assert "28311" not in "".join(
        path.read_text() for path in (tmp_path / "report").glob("*.*")
    ), "the vocabulary is nothing that the failure needs"

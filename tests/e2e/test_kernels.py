"""A script with Triton kernels where there is no Triton."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import bugreport
from tests.support.places import DATA

SCRIPTS = DATA / "kernels"


@pytest.mark.slow
def test_without_triton_one_sentence_says_so(tmp_path: Path) -> None:
    """An interpreter that has torch and no Triton."""
    if (
        subprocess.run([interpreter.COLD, "-c", "import triton"], capture_output=True).returncode
        == 0
    ):
        pytest.skip("this interpreter has a Triton")
    (tmp_path / "script.py").write_text((SCRIPTS / "right.py").read_text())
    done = bugreport(
        "create", "--no-input", "--python", interpreter.WARM, "script.py", cwd=tmp_path, timeout=300
    )
    assert done.returncode == 125
    assert "there is no Triton in" in done.stderr and "Traceback" not in done.stderr

"""Which control run a repro needs, and how its reader starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reporter.execution.control import build_control_command, needs_control

COMPILED = "import torch\n\ntorch.compile(fn)(x)\n"
EXPORTED = "import torch\n\ntorch.export.export(model, (x,))\n"
ONNX = "import torch\n\ntorch.onnx.export(model, (x,), dynamo=True)\n"
EAGER = "import sys\n\nprint('before')\nsys.exit('the last statement')\n"
HARNESS = "import sys, torch\n\ntorch.compile(fn)(x)\nsys.exit(125)\n"


@pytest.mark.parametrize(
    ("text", "needed"),
    [(COMPILED, True), (EXPORTED, True), (ONNX, True), (EAGER, False), (HARNESS, False)],
)
def test_a_plain_repro_that_compiles_needs_a_control_run(text: str, needed: bool) -> None:
    assert needs_control(text) == needed


def test_a_variable_is_all_that_a_compiled_repro_needs() -> None:
    assert build_control_command(COMPILED) is None
    assert build_control_command(HARNESS) is None


def test_what_is_exported_is_left_to_python_by_a_command() -> None:
    made = build_control_command(EXPORTED)
    assert made is not None and made == build_control_command(ONNX) and made[:2] == ["python", "-c"]
    compile(made[2], "control", "exec")
    assert made[2].endswith("runpy.run_path('repro.py', run_name='__main__')")


def test_a_repro_of_eager_mode_is_run_without_its_last_statement(tmp_path: Path) -> None:
    (tmp_path / "repro.py").write_text(EAGER)
    made = build_control_command(EAGER)
    assert made is not None
    done = subprocess.run(
        [sys.executable, *made[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "before\n")

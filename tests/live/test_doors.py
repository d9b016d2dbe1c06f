"""Verdicts on programs that go to torch by another door than `torch.compile`: operators in eager
mode, `torch.export`, AOTInductor, derivatives, several ranks.

tests/data/doors tells what is known of each program. Some are judged by default, all of them by
`make test-matrix`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reporter.cli.main import run
from tests.support import interpreter
from tests.support.places import DATA

DOORS = DATA / "doors"
#: One program for each rule that no recording can stand for.
DEFAULT = (
    "eager/device_op_with_index",
    "eager/segment_reduce_empty_offsets",
    "eager/index_reduce_mean_bfloat16",
    "eager/dropout_twice",
    "eager/hilbert_solve_float32",
    "export/called_with_other_batch",
    "export/copy_of_tensor",
    "export/decomposition_adds_mutated_input",
    "export/empty_buffer_holds_no_values",
    "export/specialised_by_view",
    "derivatives/backward_hook_added_later",
    "derivatives/graph_used_twice",
    "derivatives/finite_differences_float32",
)
#: Programs whose verdict is wrong; docs/limits.md says why.
WRONG = frozenset(("derivatives/tensor_hook_after_graph_break",))
#: The release that the tests are pinned to.
RELEASE = "2.13.0"


def programs(onnx: bool = False) -> list[str]:
    """Every program whose truth is known on the pinned release: those that need the packages of
    ONNX, or the others.
    """
    known = sorted(path.parent for path in DOORS.glob("*/*/truth.json"))
    return [
        f"{folder.parent.name}/{folder.name}"
        for folder in known
        if RELEASE in truth(folder)["expected"] and folder.name.startswith("onnx_") == onnx
    ]


def truth(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return found


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some programs write the model that they export beside them."""
    monkeypatch.chdir(tmp_path)


def find_verdict(script: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    run(["diagnose", "--json", "--no-input", "--python", str(interpreter.WARM), str(script)])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["verdict"]
    return found


def check_verdict(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = truth(DOORS / name)["expected"][RELEASE]
    script = Path(shutil.copy(DOORS / name / "script.py", tmp_path / "script.py"))
    found = find_verdict(script, capsys)
    assert found["kind"] in expected["kinds"], found["summary"]
    assert found["is_bug"] == expected["is_bug"]
    if expected["is_bug"]:
        assert found["layer"] in expected.get("layers", [found["layer"]])


@pytest.mark.parametrize("name", DEFAULT)
def test_the_verdict_is_what_is_known_of_the_program(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_verdict(name, tmp_path, capsys)


def test_a_wrong_operator_is_found_beside_a_compiled_call_that_is_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    compiles = "import torch\ntorch.compile(torch.sin, backend='aot_eager')(torch.ones(3))\n"
    script.write_text(compiles + (DOORS / DEFAULT[2] / "script.py").read_text())
    found = find_verdict(script, capsys)
    assert (found["kind"], found["layer"]) == ("wrong_result", "eager")


@pytest.mark.matrix
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True) if name in WRONG else ())
        for name in programs()
    ],
)
def test_every_verdict_is_what_is_known_of_the_program(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_verdict(name, tmp_path, capsys)


@pytest.mark.onnx
@pytest.mark.parametrize("name", programs(onnx=True))
def test_the_verdict_on_a_program_of_onnx_is_what_is_known_of_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    check_verdict(name, tmp_path, capsys)

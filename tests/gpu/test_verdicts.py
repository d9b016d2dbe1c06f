"""Verdicts on programs that compute on CUDA, where each question about a call is asked of one more
run of the program.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import SCRIPTS, bugreport

#: script, its arguments, kind and layer of the verdict
VERDICTS = [
    ("relu_is_wrong_in_triton", ["accuracy"], "wrong_result", "inductor"),
    ("relu_is_wrong_in_triton", ["compile_error"], "crash", "inductor"),
    ("relu_is_wrong_in_triton", ["runtime_error"], "crash", "inductor"),
    ("view_after_mutation", [], "wrong_result", "aot_autograd"),
    ("transpose_in_inference_mode", [], "crash", "aot_autograd"),
    ("index_on_the_cpu", [], "accepts_invalid", "decomposition"),
    ("index_out_of_bounds", [], "invalid_program", "eager"),
    ("right_with_graphs", [], "not_reproduced", "none"),
    ("right_kernel", [], "not_reproduced", "none"),
]


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    """Skips where the interpreter of the tests has no CUDA device."""
    asked = "import torch; raise SystemExit(not torch.cuda.is_available())"
    if subprocess.run([interpreter.COLD, "-c", asked]).returncode:
        pytest.skip("this interpreter's torch has no CUDA device")


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "layer"),
    [pytest.param(*row, id="-".join([row[0], *row[1]])) for row in VERDICTS],
)
def test_a_program_that_computes_on_cuda_gets_its_verdict(
    name: str, arguments: list[str], kind: str, layer: str, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / "cuda" / f"{name}.py").read_text())
    words = ["--python", interpreter.COLD, script, *arguments]
    done = bugreport("diagnose", "--json", *words, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (document["verdict"]["kind"], document["verdict"]["layer"]) == (kind, layer), done.stderr
    assert document["device"] == "cuda" or not document["verdict"]["is_bug"]

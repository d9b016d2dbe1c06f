"""`create` end to end on real bugs of the torch at hand: each report is held against what its reader demands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.candidate import seen
from reporter.reduce.cold import run_cold
from reporter.signature import same_failure
from tests.created import SCRIPTS, bugreport, check_report, create, without_statement

torch = pytest.importorskip("torch", reason="the user's interpreter needs torch")
pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith("2.13.0"), reason="the bugs are those of torch 2.13.0"
)

SECRETS = json.loads((SCRIPTS / "secrets.json").read_text())

#: script, kind, layers that are right, most statements a repro may have
QUICK = [
    ("foobar", "crash", {"inductor"}, 1),
    ("toy", "crash", {"backend"}, 1),
]
SLOW = [
    ("inference_mode_transpose", "crash", {"aot_autograd"}, 3),
    ("large_diffusion_block", "crash", {"inductor"}, 3),
    ("large_seq2seq_alibi", "wrong_gradient", {"aot_autograd"}, 4),
    ("floor_divide_transposed_strides", "wrong_metadata", {"inductor", "decomposition"}, 1),
    ("alias_view_after_mutation_wrong_base", "wrong_result", {"aot_autograd"}, 2),
    ("index_oob_embedding_offsets_abort", "process_death", {"inductor", "decomposition"}, 4),
    ("setattr_rejected_is_replayed", "crash", {"dynamo"}, 3),
    ("stale_offset_backend", "stale_graph", {"backend"}, 6),
]
RELEASES = [
    ("v26", "frexp", "crash", {"inductor"}, 2),
    ("v26", "pad3d", "wrong_result", {"inductor"}, 5),
    ("v20", "dyn_dict", "crash", {"dynamo"}, 2),
]


def _check(name: str, kind: str, layers: set[str], most: int, tmp_path: Path, python: Path) -> None:
    created = create(name, tmp_path, python)
    check_report(created, python, SECRETS.get(name))
    assert created.document["verdict"]["kind"] == kind
    assert created.document["verdict"]["layer"] in layers
    assert created.document["repro"]["statements"] <= most
    # nothing can be dropped by hand: without any one statement the repro no longer shows the failure
    wanted = seen(run_cold(python, created.repro, 300, describe=True))
    assert wanted is not None
    for text in without_statement(created.repro):
        found = seen(run_cold(python, text, 300, describe=True))
        assert found is None or not same_failure(wanted, found), text


#: A backend with an exception and a helper of its own, which lacks one activation.
LACKING = """
import torch
from torch import nn

SUPPORTED = {torch.relu, torch.nn.functional.linear, torch.tanh, torch.sum}

class AcmeMissingKernel(RuntimeError):
    pass

def acme_lower(node):
    if node.op == "call_function" and node.target not in SUPPORTED:
        raise AcmeMissingKernel(f"no kernel for {node.target.__name__}")

def acme_backend(gm, example_inputs):
    for node in gm.graph.nodes:
        acme_lower(node)
    return gm.forward

model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.GELU()).eval()
torch.compile(model, backend=acme_backend)(torch.randn(4, 16))
"""


@pytest.mark.slow
def test_a_reduced_backend_still_compiles_what_it_is_not_about(tmp_path: Path) -> None:
    """The shortest way to an error is a backend that always raises, and that tells its owner nothing."""
    script = tmp_path / "script.py"
    script.write_text(LACKING)
    options = ["--json", "--no-input", "--python", sys.executable, "--output", tmp_path / "out"]
    done = bugreport("create", *options, script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["verdict"]["exception"] == "backend_Error1"
    repro = (tmp_path / "out" / "repro.py").read_text()
    assert "class backend_Error1(RuntimeError):" in repro and "acme" not in repro.lower()
    assert repro.count("import torch.nn.functional as F") <= 1
    control = tmp_path / "control.py"
    start, end = repro.index("def repro("), repro.index("def inputs(")
    control.write_text(f"{repro[:start]}def repro(x):\n    return torch.relu(x)\n\n\n{repro[end:]}")
    assert run_cold(Path(sys.executable), control.read_text(), 300).outcome == "passes"


@pytest.mark.parametrize(("name", "kind", "layers", "most"), QUICK)
def test_a_report_of_a_real_bug(
    name: str, kind: str, layers: set[str], most: int, tmp_path: Path
) -> None:
    _check(name, kind, layers, most, tmp_path, Path(sys.executable))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "layers", "most"), SLOW)
def test_a_report_of_a_harder_bug(
    name: str, kind: str, layers: set[str], most: int, tmp_path: Path
) -> None:
    _check(name, kind, layers, most, tmp_path, Path(sys.executable))


@pytest.mark.releases
@pytest.mark.parametrize(("env", "name", "kind", "layers", "most"), RELEASES)
def test_a_report_of_another_release(
    env: str,
    name: str,
    kind: str,
    layers: set[str],
    most: int,
    tmp_path: Path,
    release_python: Callable[[str], Path],
) -> None:
    _check(name, kind, layers, most, tmp_path, release_python(env))


@pytest.mark.slow
def test_spawned_workers_lead_to_the_same_report(tmp_path: Path) -> None:
    """Where a fork is unsafe each candidate is a fresh process: slower, and nothing else."""
    reports = {}
    for workers in ("fork", "spawn"):
        (tmp_path / workers).mkdir()
        made = create("toy", tmp_path / workers, None, "--workers", workers)
        check_report(made, None, SECRETS.get("toy"))
        reports[workers] = made
    fork, spawn = reports["fork"], reports["spawn"]
    assert spawn.repro == fork.repro
    assert spawn.document["repro"]["candidates"] == fork.document["repro"]["candidates"]


def test_no_bug_is_a_verdict_and_leaves_no_folder(tmp_path: Path) -> None:
    created = create("both_nan_compare", tmp_path)
    assert created.code == 1
    assert created.document["verdict"]["kind"] == "not_reproduced"
    assert not created.folder.exists()


def test_the_command_prints_one_document_and_the_script_its_own_output(tmp_path: Path) -> None:
    done = bugreport(
        "diagnose", "--json", "--python", sys.executable, SCRIPTS / "toy.py", cwd=tmp_path
    )
    assert json.loads(done.stdout)["verdict"]["kind"] == "crash"
    assert "relu is not supported" in done.stderr

"""`create` end to end on real bugs of the torch at hand: each report is held against what its
reader demands.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reporter.execution.fresh_process import run_cold
from templates import issue_forms
from tests.support import interpreter
from tests.support.created import SCRIPTS, bugreport, check_report, check_smallest, create
from tests.support.wheels import no_shims

SECRETS = json.loads((SCRIPTS / "secrets.json").read_text())
#: script, kind, layers that are right, most statements a repro may have; the first ends before any
#: C++ is compiled
BUGS = [
    ("toy", "crash", {"backend"}, 1),
    ("foobar", "crash", {"inductor"}, 1),
    ("inference_mode_transpose", "crash", {"aot_autograd"}, 3),
    ("large_diffusion_block", "crash", {"inductor"}, 3),
    ("large_seq2seq_alibi", "wrong_gradient", {"aot_autograd"}, 4),
    ("floor_divide_transposed_strides", "wrong_metadata", {"inductor", "decomposition"}, 1),
    ("alias_view_after_mutation_wrong_base", "wrong_result", {"aot_autograd"}, 2),
    ("index_oob_embedding_offsets_abort", "process_death", {"inductor", "decomposition"}, 4),
    ("setattr_rejected_is_replayed", "crash", {"dynamo"}, 3),
    ("stale_offset_backend", "stale_graph", {"backend"}, 6),
]


@pytest.mark.parametrize(
    ("name", "kind", "layers", "most"),
    [
        pytest.param(*bug, id=bug[0], marks=() if bug in BUGS[:1] else pytest.mark.slow)
        for bug in BUGS
    ],
)
def test_a_report_of_a_real_bug_is_one_that_a_maintainer_would_accept(
    name: str, kind: str, layers: set[str], most: int, tmp_path: Path
) -> None:
    created = create(name, tmp_path)
    check_report(created, secrets=SECRETS.get(name))
    assert created.document["verdict"]["kind"] == kind
    assert created.document["verdict"]["layer"] in layers
    assert created.document["repro"]["statements"] <= most
    check_smallest(created)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "kept"),
    [
        # within nested_compile_region
        ("region", "wrong_result", "torch.relu(x)"),
        # log1p is wrong too, and no output depends on it
        ("two_faults", "wrong_result", "torch.relu(x)"),
        ("kernel_raises", "crash", "torch.relu(x)"),
        # its backend fails for these indices alone
        ("needs_its_indices", "wrong_result", "custom_backend"),
        # one function for both sides of a comparison would make eager differ from eager
        ("counts_on_a_function", "stale_graph", "compiled = torch.compile(program())"),
        # its command line is parsed, and a method makes the call
        ("filter_of_a_service", "stale_graph", "os.getenv("),
        # it lets go of its options, and all its functions and methods are decorated
        ("evaluation_of_a_turbine", "stale_graph", "os.getenv("),
    ],
)
def test_what_used_to_end_without_a_repro_or_with_another_fault(
    name: str, kind: str, kept: str, tmp_path: Path
) -> None:
    created = create(f"create/{name}", tmp_path)
    assert created.code == 0, created.talk[-3000:]
    assert created.document["verdict"]["kind"] == kind
    assert created.document["repro"]["statements"] <= 2
    assert kept in created.repro and "log1p" not in created.repro
    if name == "kernel_raises":
        assert "while it runs" in created.document["verdict"]["summary"]
    if name == "needs_its_indices":
        assert "which are yours" in created.talk


@pytest.mark.slow
def test_a_repro_that_draws_random_numbers_starts_from_the_seed_of_the_user(tmp_path: Path) -> None:
    created = create("memory_budget_dropout_grad", tmp_path, None, "--quick", "--seed", "7")
    check_report(created)
    assert created.document["verdict"]["kind"] == "wrong_gradient"
    assert created.document["repro"]["verified_cold"]
    assert "torch.manual_seed(7)\nx = torch.rand" in created.repro
    seeds = re.findall(r"manual_seed\((\d+)\)", "\n".join(created.outgoing().values()))
    assert set(seeds) <= {"7", "8", "9"}


@pytest.mark.slow
def test_a_reduced_backend_still_compiles_what_it_is_not_about(tmp_path: Path) -> None:
    """The shortest way to an error is a backend that always raises, and that tells its owner
    nothing.
    """
    created = create("create/lacking_backend", tmp_path)
    assert created.code == 0, created.talk[-3000:]
    assert created.document["verdict"]["exception"] == "backend_Error1"
    repro = created.repro
    assert "class backend_Error1(RuntimeError):" in repro and "acme" not in repro.lower()
    assert repro.count("import torch.nn.functional as F") <= 1
    start, end = repro.index("def fn("), repro.index("torch.compile(fn")
    control = f"{repro[:start]}def fn(x):\n    return torch.relu(x)\n\n\n{repro[end:]}"
    assert run_cold(interpreter.WARM, control, 300).outcome == "passes"


@pytest.mark.slow
def test_spawned_workers_lead_to_the_same_report(tmp_path: Path) -> None:
    """Where a fork is unsafe each candidate is a fresh process: slower, and nothing else."""
    reports = {}
    for workers in ("fork", "spawn"):
        (tmp_path / workers).mkdir()
        made = create("toy", tmp_path / workers, None, "--workers", workers)
        check_report(made, secrets=SECRETS.get("toy"))
        reports[workers] = made
    fork, spawn = reports["fork"], reports["spawn"]
    assert spawn.repro == fork.repro
    assert spawn.document["repro"]["candidates"] == fork.document["repro"]["candidates"]


@pytest.mark.slow
def test_a_release_that_cannot_be_had_costs_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_shims(monkeypatch)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("BUGREPORT_RELEASES", str(tmp_path / "cache"))
    created = create("foobar", tmp_path, None, "--releases", "9.9.9")
    assert created.code == 0 and "releases" not in created.document
    issue = (created.folder / "issue.md").read_text()
    assert "Releases: no other than torch 2.13.0+cpu was tried." in issue


def test_no_bug_is_a_verdict_and_leaves_no_folder(tmp_path: Path) -> None:
    created = create("both_nan_compare", tmp_path)
    assert created.code == 1, created.talk[-3000:]
    assert created.document["verdict"]["kind"] == "invalid_program"
    assert "in the same way without the compiler" in created.document["verdict"]["summary"]
    assert not created.folder.exists()


def test_rounding_does_not_explain_an_assertion_that_fails_without_the_compiler(
    tmp_path: Path,
) -> None:
    created = create("counts_its_calls", tmp_path)
    assert created.code == 1, created.talk[-3000:]
    verdict = created.document["verdict"]
    assert verdict["kind"] == "invalid_program"
    assert "without the compiler: AssertionError" in verdict["summary"]
    assert verdict["summary"].endswith("differs from eager by rounding only.")


@pytest.mark.slow
def test_rounding_does_not_explain_an_assertion_that_fails_with_eager_kernels(
    tmp_path: Path,
) -> None:
    created = create("counts_when_compiled", tmp_path)
    assert created.code == 1, created.talk[-3000:]
    verdict = created.document["verdict"]
    assert (verdict["kind"], verdict["layer"]) == ("not_reproduced", "none")
    assert "with the compiler alone: AssertionError" in verdict["summary"]
    assert "with backend eager, which rounds alike, it fails in the same way" in verdict["summary"]


@pytest.mark.slow
def test_rounding_explains_an_assertion_where_the_traced_program_rounds_otherwise(
    tmp_path: Path,
) -> None:
    """Dynamo traces an optimizer's capturable form, so backend `eager` rounds otherwise, too."""
    created = create("steps_of_compiled_adam", tmp_path)
    assert created.code == 1, created.talk[-3000:]
    assert created.document["verdict"]["kind"] == "rounding"


def test_the_command_prints_one_document_and_the_script_its_own_output(tmp_path: Path) -> None:
    options = ["--json", "--python", interpreter.WARM]
    done = bugreport("diagnose", *options, SCRIPTS / "toy.py", cwd=tmp_path)
    assert json.loads(done.stdout)["verdict"]["kind"] == "crash"
    assert "relu is not supported" in done.stderr


def test_a_limit_that_torch_states_is_reported_as_a_feature_request(tmp_path: Path) -> None:
    created = create("verdicts/print_in_one_graph", tmp_path, None, "--as-request", "--quick")
    assert created.code == 0, created.talk
    verdict = created.document["verdict"]
    assert (verdict["kind"], verdict["is_bug"]) == ("unsupported", False)
    assert "print(" in created.repro and "fullgraph=True" in created.repro
    issue = (created.folder / "issue.md").read_text()
    assert "Failed to trace builtin operator" in issue and "is a bug" not in issue
    assert [line for line in issue.splitlines() if line.startswith("###")] == list(
        issue_forms.load("feature").headings
    )
    shown = run_cold(interpreter.WARM, created.repro, 300)
    assert shown.outcome == "fails" and "Unsupported" in shown.stderr

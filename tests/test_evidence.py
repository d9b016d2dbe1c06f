"""Torch's own tools: each release has what it has, nothing of the private call leaves, and the right kernel is quoted."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.evidence.call import of_call
from reporter.evidence.interface import Excerpt, trim
from reporter.evidence.kernels import Kernel, excerpt, kernels
from reporter.evidence.repro import ReproEvidence, of_repro
from tests.created import check_report, create
from tests.watched import watch

DATA = Path(__file__).parent / "data" / "evidence"
BREAKING = """
    import torch

    class Repro(torch.nn.Module):
        def forward(self, x):
            y = x + 1
            torch._dynamo.graph_break()
            return y * 2

    run = torch.compile(Repro(), backend={backend!r})
    for size in (3, 4):
        run(torch.ones(size, 5))
    assert False, "output 0 differs"
"""


def _program(backend: str) -> str:
    return textwrap.dedent(BREAKING).replace("{backend!r}", repr(backend)).lstrip()


def _of(python: Path, backend: str, keep: Path | None = None, **more: str) -> ReproEvidence:
    facts = {"kind": "wrong_result", "layer": "aot_autograd", "error": "", **more}
    return of_repro(python, _program(backend), suspects=(), budget=900, keep=keep, **facts)


def _row(found: ReproEvidence, name: str) -> str:
    return next(item.outcome for item in found.collected if item.name == name)


def test_of_a_repro_in_a_fresh_process(tmp_path: Path) -> None:
    found = _of(Path(sys.executable), "aot_eager", tmp_path / "kept")
    document = found.to_json()
    assert document["graphs"] == 4 and document["operations"] == [1, 1, 1, 1]
    assert [item["count"] for item in document["graph_breaks"]] == [2]
    assert document["graph_breaks"][0]["reason"]
    assert document["recompiles"] == 2
    assert document["compile_seconds"]["dynamo"] >= document["compile_seconds"]["aot_autograd"] > 0
    assert {item.name: item.outcome for item in found.collected} == {
        "logs": "ok",
        "trace": "ok",
        "inductor": "skipped",
        "phases": "ok",
        "explain": "ok",
    }
    assert found.excerpt is not None and "torch.ops.aten.mul" in found.excerpt.text
    logs = {path.stem for path in (tmp_path / "kept" / "logs").iterdir()}
    assert {"all", "guards", "graph_breaks", "recompiles", "graph_code", "aot_graphs"} <= logs


def test_a_repro_that_does_not_end_is_no_evidence() -> None:
    found = of_repro(
        Path(sys.executable),
        "import time\ntime.sleep(600)\n",
        kind="hang",
        layer="inductor",
        suspects=(),
        error="",
        budget=6,
    )
    assert found.excerpt is None and found.no_excerpt == "not done within 6 s"
    assert {item.outcome for item in found.collected} == {"skipped"}


@pytest.mark.releases
@pytest.mark.parametrize("release", ["v20", "v26", "v213", "v215"])
def test_every_tool_on_every_release(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    found = _of(release_python(release), "inductor", tmp_path / "kept", layer="inductor")
    outcomes = {item.name: item.outcome for item in found.collected}
    old = release == "v20"
    assert outcomes.pop("trace") == ("skipped" if old else "ok")
    assert set(outcomes.values()) == {"ok"}
    kept = tmp_path / "kept"
    assert (kept / "logs" / "all.log").stat().st_size > 1000
    if not old:
        artifacts = ("guards", "recompiles", "graph_breaks", "output_code", "fusion")
        for name in artifacts:
            assert (kept / "logs" / f"{name}.log").stat().st_size > 0, name
    graphs = [path.parent for path in kept.rglob("output_code.py")]
    assert len(graphs) >= 2
    for name in ("fx_graph_readable.py", "ir_pre_fusion.txt", "ir_post_fusion.txt"):
        assert all((graph / name).exists() for graph in graphs)
    document = found.to_json()
    assert document["vector_isa"] and document["recompiles"] >= 1
    assert (
        document["graph_breaks"]
        and document["compile_seconds"]["inductor" if not old else "dynamo"] > 0
    )
    assert "kernels, and nothing says" in found.no_excerpt  # one for each half, and no suspect


PRIVATE = """
    import torch

    class SecretLedger(torch.nn.Module):
        def forward(self, secret_rows):
            total = secret_rows.sum()
            if total > 0:
                return helper_of_acme(secret_rows)
            return secret_rows

    def helper_of_acme(secret_rows):
        return secret_rows.sigmoid()

    def broken(gm, inputs):
        def run(*args):
            return [out + 0.5 for out in gm.forward(*args)]
        return run

    model = torch.compile(SecretLedger(), backend=broken)
    model(torch.ones(3))
"""


def test_of_a_private_call_in_a_fork(tmp_path: Path) -> None:
    recording = watch(textwrap.dedent(PRIVATE), tmp_path)
    try:
        lab = recording.findings[0].lab
        found = of_call(lab, tmp_path / "evidence", 100)
        one = of_call(lab, tmp_path / "one", 100, {"function": "helper_of_acme"})
    finally:
        recording.close()
    outcomes = {item.name: item.outcome for item in found.collected}
    assert outcomes["explain"] == outcomes["logs"] == outcomes["trace"] == "ok"
    assert outcomes["one_function"] == "skipped"
    written = json.loads((tmp_path / "evidence" / "evidence.json").read_text())
    breaks = next(c for c in written["collectors"] if c["collector"] == "explain")["facts"]
    place = breaks["graph_breaks"][0]
    assert place["function"] == "forward" and place["file"].endswith("script.py")
    assert "secret_rows" in (tmp_path / "evidence" / "logs" / "all.log").read_text()
    assert (tmp_path / "evidence" / "evidence.json").stat().st_mode & 0o077 == 0
    # only the named function was compiled: one graph, and no break in the one that calls it
    compiled = next(item for item in one.collected if item.name == "explain").facts
    assert compiled["graphs"] == 1 and compiled["graph_breaks"] == []


ERROR = (
    "/tmp/x/c.cpp:7:30: error: no match\n    7 |     auto tmp2 = tmp1 * tmp3;\n      |      ^~~~\n"
)


@pytest.mark.parametrize(
    ("error", "suspects", "names", "expected"),
    [
        (ERROR, (), ("frexp", "mul"), "cpp_fused_frexp_0"),
        ("", ("relu",), ("frexp", "mul"), "cpp_fused_mul_relu_1"),
        ("", ("exp",), ("frexp", "mul", "exp"), "triton_poi_fused_exp_2"),
        ("", ("mul_relu",), ("frexp", "mul"), "cpp_fused_mul_relu_1"),
        ("", (), ("mul",), "cpp_fused_mul_relu_1"),
        ("", (), ("frexp", "mul"), "there are 2 kernels, and nothing says which of them is wrong"),
        ("", (), (), "inductor generated no kernel"),
        (ERROR, (), ("mul",), "the lines that the C++ compiler refuses are in none of the kernels"),
    ],
)
def test_the_kernel_that_matters_or_none(
    error: str, suspects: tuple[str, ...], names: tuple[str, ...], expected: str
) -> None:
    found = [
        kernel
        for kernel in kernels(DATA.parent, ["evidence"])
        if any(f"_{name}_" in kernel.name for name in names)
    ]
    shown = excerpt(found, error, suspects, gradient=False)
    if isinstance(shown, Excerpt):
        assert f"`{expected}`" in shown.caption and "#include" not in shown.text
    else:
        assert shown == expected


def test_a_long_kernel_is_cut_around_the_line_at_fault() -> None:
    lines = [f"    auto tmp{i} = in_ptr0[{i}] * {i};" for i in range(300)]
    kernel = Kernel("cpp_fused_0", "cpp", "\n".join(["void kernel()", "{", *lines, "}"]), "")
    shown = excerpt([kernel], " 212 |     auto tmp210 = in_ptr0[210] * 210;\n", (), gradient=False)
    assert isinstance(shown, Excerpt)
    assert len(shown.text.splitlines()) < 40 and lines[210] in shown.text
    assert shown.text.startswith("void kernel()")


@pytest.mark.parametrize("generated", [None, {"kernels": [1]}])
def test_a_private_word_costs_no_more_of_the_evidence_than_it_must(
    generated: dict[str, object] | None,
) -> None:
    found = ReproEvidence((), Excerpt("kernel", "cpp", "x"), "", 1.0, generated)
    parts = [(item.excerpt is not None, bool(item.generated)) for item in found.less_and_less()]
    both = [(True, True), (False, True), (True, False), (False, False)]
    assert parts == (both if generated else [(True, False), (False, False)])
    assert all(bool(item.no_excerpt) != bool(item.excerpt) for item in found.less_and_less())
    assert len(list(ReproEvidence((), None, "none", 1.0).less_and_less())) == 1


def test_files_are_kept_up_to_a_size(tmp_path: Path) -> None:
    for name, size in (("small", 10), ("large", 5000)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert trim(tmp_path, 1000) == ("large (5000 bytes)",)
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


@pytest.mark.slow
def test_a_report_quotes_the_kernel_and_keeps_the_rest(tmp_path: Path) -> None:
    created = create("any_uint8_becomes_bool", tmp_path, None, "--evidence", "200")
    check_report(created)
    issue = (created.folder / "issue.md").read_text()
    assert issue.index("### Error logs") < issue.index("```cpp") < issue.index("### Versions")
    assert "bool" in issue[issue.index("```cpp") :]
    assert created.document["evidence"]["excerpt"] and created.document["evidence"]["vector_isa"]
    private = created.folder / "private" / "evidence"
    assert (private / "call" / "evidence.json").exists() and (private / "repro" / "logs").is_dir()
    assert all(path.stat().st_mode & 0o077 == 0 for path in private.rglob("*"))

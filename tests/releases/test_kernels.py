"""Triton without a GPU: whose fault a kernel's failure is, and a public kernel that fails in the
same way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from anonymizer.source.triton_kernel import rebuild
from reporter.kernels.questions import ask
from reporter.kernels.reduce import KernelCandidate, reduce_kernel
from reporter.kernels.verdict import is_same_failure
from templates.kernel import TARGETS, render_repro
from tests.support.created import bugreport
from tests.support.places import DATA

SCRIPTS = DATA / "kernels"


VERDICTS = {
    "right": ("not_reproduced", "under the interpreter the script ends well", ["ok"]),
    "function_constant": ("not_reproduced", "under the interpreter the script ends well", ["ok"]),
    "unsigned": ("not_reproduced", "under the interpreter the script ends well", ["ok"]),
    "stride_of_one": ("not_reproduced", "under the interpreter the script ends well", ["ok"]),
    "tensor_descriptor": ("not_reproduced", "takes tile (TensorDescriptor)", []),
    "wrong_mask": ("invalid_program", "The kernel itself is at fault", ["ok"]),
    "bad_dot_shape": ("invalid_program", "equal reduction dimensions", ["raises"]),
    "missing_constexpr": ("invalid_program", "must be of type tl.constexpr", ["raises"]),
    "shape_mismatch": ("invalid_program", "incompatible dimensions", ["raises"]),
    "unsupported_on_one_arch": (
        "invalid_program",
        "for cuda:80, but not for cuda:90",
        ["ok", "raises"],
    ),
    "inline_assembly": ("invalid_program", "own inline assembly", ["raises"]),
}


@pytest.mark.parametrize("name", list(VERDICTS))
def test_a_real_kernel_gets_its_verdict_on_every_target(
    name: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    kind, says, outcomes = VERDICTS[name]
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / f"{name}.py").read_text())
    python = release_python("v215")
    done = bugreport("diagnose", "--json", "--no-input", "--python", python, script, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert (document["verdict"]["kind"], document["verdict"]["layer"]) == (kind, "triton")
    assert says in document["verdict"]["summary"]
    rungs = {row["rung"]: row["outcome"] for row in document["ladder"]}
    assert sorted({rungs[name] for name in TARGETS if name in rungs}) == outcomes


def test_a_public_kernel_that_fails_alone(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """The way from a launch to a repro, on an error of the assembler: reduced, and seen in a fresh
    process.
    """
    python = release_python("v215")
    script = tmp_path / "script.py"
    # the same instruction for every target, written so that a public string names it
    source = (
        (SCRIPTS / "inline_assembly.py")
        .read_text()
        .replace('"rcp.approx.frobnicate.f32 $0, $1;"', '"zero"')
    )
    script.write_text(source)
    spec = {"what": "compile", "script": str(script)}
    compiled = ask(python, spec, tmp_path, 300)
    launch = compiled["launches"][0]
    wanted = next(item for item in launch["targets"] if item["target"] == "cuda:80")
    assert wanted["outcome"] == "raises", wanted
    public = rebuild(source, launch["kernel"], compiled["vocabulary"])
    renamed = {
        "signature": {public.parameters[key]: value for key, value in launch["signature"].items()},
        "constexprs": {
            public.parameters[key]: value for key, value in launch["constexprs"].items()
        },
        "aligned": [public.parameters[key] for key in launch["aligned"]],
        "options": launch["options"],
    }

    def attempt(kernels: Sequence[KernelCandidate]) -> list[bool]:
        request = {
            "what": "candidates",
            "kernel": public.kernel,
            "texts": ["import triton\nimport triton.language as tl\n" + k.text for k in kernels],
            "launches": [k.launch for k in kernels],
            "target": "cuda:80",
        }
        return [
            is_same_failure(wanted, item) for item in ask(python, request, tmp_path, 300)["answers"]
        ]

    first = KernelCandidate(public.text, public.kernel, renamed)
    assert attempt([first]) == [True]
    small = reduce_kernel(first, attempt)
    assert small.statements < first.statements and small.text.count("*") < first.text.count("*")
    text = render_repro(small.text, small.name, small.launch, "cuda:80", "It fails.")
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run(
        [python, "repro.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 1 and "ptxas" in done.stderr.lower(), done.stderr
    assert subprocess.run([sys.executable, "repro.py"], cwd=tmp_path, timeout=200).returncode == 125


def test_a_compiler_bug_becomes_a_whole_report(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """Triton 3.9.0 cannot add numbers of eight bits: from a script to an issue that could be
    filed.
    """
    python = release_python("v215")
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / "fp8_residual.py").read_text())
    report = tmp_path / "report"
    options = ["--json", "--no-input", "--python", python, "-o", report]
    done = bugreport("create", *options, script, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"]["reproduced"] == [3, 3] and document["audit"]["passed"]
    assert document["test"]["fails_here"] and document["lint"]["clean"]
    assert {row["rung"]: row["outcome"] for row in document["ladder"]}["cuda:80"] == "raises"
    assert document["repro"]["statements"] <= 6 and document["labels"] == ["bug"]
    names = {path.name for path in report.iterdir()}
    assert names == {*FILES, "private"}
    for name in FILES:
        text = (report / name).read_text().lower()
        for word in ("quorum", "acme", "ledger", "residual", "tally", "448", "page_"):
            assert word not in text, (name, word)
    shown = bugreport("file", "--dry-run", report, "-R", "triton-lang/triton", cwd=tmp_path)
    assert shown.returncode == 0 and "[BUG] Triton fails to compile" in shown.stdout
    assert "data-chart" in (report / "report.html").read_text()


FILES = ("report.json", "issue.md", "repro.py", "test_repro.py", "report.html")


def test_a_bug_of_one_target(release_python: Callable[[str], Path], tmp_path: Path) -> None:
    """Triton 3.9.0 lets an atomic `and` on floats through to the compiler for AMD, which fails on
    it.
    """
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / "float_atomic_and.py").read_text())
    options = ["--json", "--no-input", "--python", release_python("v215")]
    done = bugreport("diagnose", *options, script, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (document["verdict"]["kind"], document["device"]) == ("crash", "gfx942")
    rungs = {row["rung"]: row["outcome"] for row in document["ladder"]}
    assert [rungs[name] for name in TARGETS] == ["ok", "ok", "ok", "raises"]

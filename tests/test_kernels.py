"""Triton without a GPU: whose fault a kernel's failure is, and a public kernel that fails in the same way."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from anonymizer.kernels import NotPublic, rebuild
from reporter.kernels.ask import ask, defines_kernels
from reporter.kernels.reduce import Kernel, smallest
from reporter.kernels.verdict import judge, same_failure
from templates.kernel import TARGETS, render_kernel_test, render_repro
from tests.created import bugreport

SCRIPTS = Path(__file__).parent / "data" / "kernels"
#: What `triton.language` has, as far as these scripts use it.
VOCABULARY = frozenset("""
    jit language constexpr program_id arange load store sum mask other axis inline_asm_elementwise dtype is_pure pack
    float32 dot max to float8e4nv
    """.split())


def _answer(outcome: str, target: str = "cuda:80", **more: Any) -> dict[str, Any]:
    plain = {
        "exception": None,
        "signal": None,
        "pass": None,
        "message": "",
        "log": "",
        "seconds": 0.1,
    }
    return {**plain, "outcome": outcome, "target": target, **more}


def _compiled(*answers: dict[str, Any]) -> dict[str, Any]:
    return {"launches": [{"kernel": "secret_kernel", "targets": list(answers)}]}


OK = {"ending": {"exit": 0}}
WRONG = {"ending": {"exit": 1, "exception": "AssertionError", "message": "not close"}}


@pytest.mark.parametrize(
    ("interpreted", "answers", "source", "kind", "is_bug", "says"),
    [
        (OK, [_answer("ok")], "", "not_reproduced", False, "only a GPU shows"),
        (WRONG, [_answer("ok")], "", "invalid_program", False, "AssertionError: not close"),
        (
            OK,
            [_answer("refused", message="no fp8"), _answer("ok", "cuda:90")],
            "",
            "invalid_program",
            False,
            "for cuda:80, but not for cuda:90: no fp8",
        ),
        (
            OK,
            [_answer("raises", exception="RuntimeError", message="PassManager::run failed")],
            "",
            "crash",
            True,
            "fails with RuntimeError: PassManager::run failed",
        ),
        (
            WRONG,
            [_answer("ok"), _answer("died", "gfx942", signal="SIGABRT")],
            "",
            "process_death",
            True,
            "for gfx942 dies with SIGABRT; it compiles for cuda:80",
        ),
        (OK, [_answer("timeout")], "", "not_reproduced", False, "did not end within its limit"),
        (
            OK,
            [_answer("raises", exception="PTXASError", message="Unknown modifier")],
            "tl.inline_asm_elementwise(…)",
            "invalid_program",
            False,
            "own inline assembly",
        ),
    ],
)
def test_whose_fault_it_is(
    interpreted: dict[str, Any],
    answers: list[dict[str, Any]],
    source: str,
    kind: str,
    is_bug: bool,
    says: str,
) -> None:
    verdict = judge(interpreted, _compiled(*answers), source)
    assert (verdict.kind, verdict.is_bug) == (kind, is_bug)
    assert says in verdict.summary


def test_the_same_failure_in_other_words() -> None:
    wanted = _answer(
        "raises", exception="RuntimeError", message="'tt.dot' op has 3 operands of tensor<4xf32>"
    )
    assert same_failure(
        wanted, {**wanted, "message": "'tt.load' op has 7 operands of tensor<8xf16>"}
    )
    assert not same_failure(wanted, {**wanted, "message": "unrealized cast"})
    assert not same_failure(wanted, _answer("died", signal="SIGABRT"))


def test_a_kernel_in_public_names_says_nothing_of_its_author() -> None:
    source = (SCRIPTS / "inline_assembly.py").read_text()
    public = rebuild(source, "fast_reciprocal", VOCABULARY)
    for word in ("reciprocal", "amount", "acme", "invert", "doubled", "frobnicate", "desk"):
        assert word not in public.text
    assert public.parameters["SIZE"].startswith("SIZE") and public.parameters["count"] != "count"
    assert "tl.load" in public.text and "@triton.jit" in public.text
    kernel = next(n for n in ast.parse(public.text).body if isinstance(n, ast.FunctionDef))
    assert ast.get_docstring(kernel) is None


@pytest.mark.parametrize(
    "body",
    ["from acme import secret\n", "", "secret = open('x')\n"],
)
def test_what_has_no_public_form_stops_the_rewriting(body: str) -> None:
    source = f"import triton\nimport triton.language as tl\n{body}@triton.jit\ndef k(p):\n    tl.store(p, secret)\n"
    with pytest.raises(NotPublic):
        rebuild(source, "k", VOCABULARY)


def test_helpers_and_constants_come_along_under_public_names() -> None:
    source = (
        "import triton\nfrom triton import language as L\nACME_LIMIT = L.constexpr(7)\n"
        "@triton.jit\ndef acme_clip(value_of_acme):\n    return value_of_acme + ACME_LIMIT\n"
        "@triton.jit\ndef acme_main(ptr):\n    L.store(ptr, acme_clip(L.load(ptr)))\n"
    )
    text = rebuild(source, "acme_main", VOCABULARY).text
    assert (
        "acme" not in text.lower() and "tl.constexpr(7)" in text and text.count("@triton.jit") == 2
    )


def test_reduction_leaves_what_the_failure_needs() -> None:
    text = (
        "@triton.jit\ndef helper1(value1):\n    return value1 + 1\n\n\n"
        "@triton.jit\ndef kernel1(ptr1, arg1, SIZE1: tl.constexpr):\n"
        "    value2 = tl.arange(0, SIZE1)\n    value3 = helper1(value2)\n    for value4 in range(3):\n"
        "        value3 += arg1\n    tl.store(ptr1 + value2, value3)\n"
    )
    launch: dict[str, Any] = {
        "signature": {"ptr1": "*fp32", "arg1": "i32", "SIZE1": "constexpr"},
        "constexprs": {"SIZE1": 64},
        "aligned": ["ptr1", "arg1"],
        "options": {},
    }

    def attempt(kernels: Sequence[Kernel]) -> list[bool]:
        return ["tl.arange(0, SIZE1)" in kernel.text for kernel in kernels]

    small = smallest(Kernel(text, "kernel1", launch), attempt)
    assert small.statements == 1 and "helper1" not in small.text
    assert list(small.launch["signature"]) == ["SIZE1"] and small.launch["aligned"] == []


def test_the_repro_and_its_test() -> None:
    launch = {
        "signature": {"ptr1": "*fp32", "SIZE1": "constexpr", "DTYPE1": "constexpr"},
        "constexprs": {"SIZE1": 64, "DTYPE1": {"tl": "float16"}},
        "aligned": ["ptr1"],
        "options": {"num_warps": 4},
    }
    text = render_repro(
        "@triton.jit\ndef kernel1(): pass", "kernel1", launch, "gfx942", 'it "fails"'
    )
    ast.parse(text)
    assert "GPUTarget('hip', 'gfx942', 64)" in text and "'DTYPE1': tl.float16" in text
    test = render_kernel_test(
        "@triton.jit\ndef kernel1(): pass", "kernel1", launch, "gfx942", "It fails"
    )
    assert "def test_kernel1_compiles():" in test and ast.parse(test)


def test_targets_are_those_of_the_collector() -> None:
    """The host may not import the collector, so both have the table."""
    module = ast.parse((SCRIPTS.parents[2] / "collectors/kernels/targets.py").read_text())
    table = next(
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TARGETS"
    )
    assert ast.literal_eval(table) == TARGETS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import triton\n@triton.jit\ndef k(): pass\n", True),
        ("from triton import jit\n@jit\ndef k(): pass\n", True),
        ("import torch\n@torch.jit.script\ndef k(): pass\n", False),
        ("import triton\n", False),
    ],
)
def test_which_scripts_have_kernels(text: str, expected: bool, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(text)
    assert defines_kernels(script) is expected


VERDICTS = {
    "right": ("not_reproduced", "under the interpreter the script ends well", ["ok"]),
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


@pytest.mark.releases
@pytest.mark.parametrize("name", list(VERDICTS))
def test_real_kernels(name: str, release_python: Callable[[str], Path], tmp_path: Path) -> None:
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
    assert sorted({rungs[name] for name in TARGETS}) == outcomes


@pytest.mark.releases
def test_a_public_kernel_that_fails_alone(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """The way from a launch to a repro, on an error of the assembler: reduced, and seen in a fresh process."""
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

    def attempt(kernels: Sequence[Kernel]) -> list[bool]:
        request = {
            "what": "candidates",
            "kernel": public.kernel,
            "texts": ["import triton\nimport triton.language as tl\n" + k.text for k in kernels],
            "launches": [k.launch for k in kernels],
            "target": "cuda:80",
        }
        return [
            same_failure(wanted, item) for item in ask(python, request, tmp_path, 300)["answers"]
        ]

    first = Kernel(public.text, public.kernel, renamed)
    assert attempt([first]) == [True]
    small = smallest(first, attempt)
    assert small.statements < first.statements and small.text.count("*") < first.text.count("*")
    text = render_repro(small.text, small.name, small.launch, "cuda:80", "It fails.")
    (tmp_path / "repro.py").write_text(text)
    done = subprocess.run(
        [python, "repro.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 1 and "ptxas" in done.stderr.lower(), done.stderr
    assert subprocess.run([sys.executable, "repro.py"], cwd=tmp_path, timeout=200).returncode == 125


def test_a_chain_of_operations_is_shortened() -> None:
    text = (
        "@triton.jit\ndef kernel1(ptr1):\n    value1 = tl.load(ptr1)\n    value2 = value1 + value1\n"
        "    value3 = value2 * 0.5\n    value4 = tl.exp(value3)\n    tl.store(ptr1, value4)\n"
    )
    launch: dict[str, Any] = {
        "signature": {"ptr1": "*fp32"},
        "constexprs": {},
        "aligned": [],
        "options": {},
    }

    def attempt(kernels: Sequence[Kernel]) -> list[bool]:
        """As a compiler: names must exist, and what is not stored is left out."""
        found = []
        for kernel in kernels:
            body = ast.parse(kernel.text).body[0]
            stored = {
                n.id
                for n in ast.walk(body)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            read = {
                n.id
                for n in ast.walk(body)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
            }
            defined = {name for name in read if name.startswith("value")} <= stored
            found.append(
                defined
                and "tl.exp" in kernel.text
                and "tl.load(ptr1)" in kernel.text
                and "tl.store(ptr1, value4)" in kernel.text
            )
        return found

    small = smallest(Kernel(text, "kernel1", launch), attempt)
    assert small.statements == 3 and "0.5" not in small.text


@pytest.mark.releases
def test_a_compiler_bug_becomes_a_whole_report(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """Triton 3.9.0 cannot add numbers of eight bits: from a script to an issue that could be filed."""
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


@pytest.mark.slow
def test_without_triton_one_sentence_says_so(tmp_path: Path) -> None:
    """An interpreter that has torch and no Triton."""
    if subprocess.run([sys.executable, "-c", "import triton"], capture_output=True).returncode == 0:
        pytest.skip("this interpreter has a Triton")
    (tmp_path / "script.py").write_text((SCRIPTS / "right.py").read_text())
    done = bugreport(
        "create", "--no-input", "--python", sys.executable, "script.py", cwd=tmp_path, timeout=300
    )
    assert done.returncode == 125
    assert "there is no Triton in" in done.stderr and "Traceback" not in done.stderr


def test_texts_of_a_kernel_keep_their_differences() -> None:
    source = (
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef k(p, MODE: tl.constexpr):\n"
        "    if MODE == 'acme':\n        tl.store(p, 1.0)\n    elif MODE == 'quorum':\n        tl.store(p, 2.0)\n"
    )
    public = rebuild(source, "k", VOCABULARY)
    assert public.constant("acme") == "text1" and public.constant("quorum") == "text2"
    assert (
        "'text1'" in public.text and public.constant("other") == "text" and public.constant(3) == 3
    )
    with pytest.raises(NotPublic):
        public.constant({"tl": "JITFunction(script:acme)"})


@pytest.mark.releases
def test_a_bug_of_one_target(release_python: Callable[[str], Path], tmp_path: Path) -> None:
    """Triton 3.9.0 lets an atomic `and` on floats through to the compiler for AMD, which fails on it."""
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / "float_atomic_and.py").read_text())
    options = ["--json", "--no-input", "--python", release_python("v215")]
    done = bugreport("diagnose", *options, script, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (document["verdict"]["kind"], document["device"]) == ("crash", "gfx942")
    rungs = {row["rung"]: row["outcome"] for row in document["ladder"]}
    assert [rungs[name] for name in TARGETS] == ["ok", "ok", "ok", "raises"]

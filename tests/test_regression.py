"""`test_repro.py`: in the style of torch's suites, failing where the repro fails and passing where it passes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.build import formatted
from reporter.candidate import judge, seen
from reporter.reduce.cold import run_cold
from templates.regression import failing_text, method, render_tests, with_imports
from tests import outgoing_data as data
from tests.golden import HOME

#: Repros of release 2.6.0 that 2.13.0 has mended, as `create` writes them.
MENDED = {
    "crash": (
        "torch.frexp",
        "def repro(x, y):\n    v0 = torch.frexp(x)\n    return y * v0[1]\n",
        "(torch.randn(4, 1), torch.randn(4, 1))",
    ),
    "wrong_result": (
        "F.pad",
        "def repro(x, y):\n"
        '    v0 = torch.nn.functional.pad(x, (1, 1, 1, 1, 1, 1), "reflect")\n'
        "    v2 = torch.chunk(v0.view(2, -1), 2)\n"
        "    return torch.nn.functional.pairwise_distance(y, v2[1])\n",
        "(torch.randn(3, 3, 2, 2), torch.randn(2, 1))",
    ),
}


def document(kind: str, layer: str, *operators: str) -> dict[str, Any]:
    verdict = {"kind": kind, "layer": layer, "summary": "It fails."}
    return {"verdict": verdict, "repro": {"operators": list(operators)}}


def repro(kind: str) -> str:
    """A repro of `MENDED` in the harness of all repros."""
    from anonymizer.harness import Body, Check, render

    _, program, inputs = MENDED[kind]
    body = Body(program, "repro", (f"return {inputs}",), False)
    return formatted(render(body, Check(kind)))


@pytest.mark.parametrize(
    ("operators", "name"),
    [
        (["torch.frexp"], "test_crash_frexp"),
        (["F.pad", "view", "x"], "test_crash_pad_view"),
        (["torch.sigmoid_"], "test_crash_sigmoid"),
        ([], "test_crash"),
    ],
)
def test_a_method_is_named_by_what_fails(operators: list[str], name: str) -> None:
    assert method(document("crash", "inductor", *operators)) == name


@pytest.mark.parametrize(
    ("kind", "layer", "source", "styles"),
    [
        ("crash", "inductor", data.CRASH, ["self.common(", "run(lambda", "main()"]),
        ("crash", "dynamo", data.CRASH, ["CompileCounter()", "main()"]),
        (
            "wrong_gradient",
            "inductor",
            data.GRADIENT,
            ["check_gradient=True", "exact = run", "main()"],
        ),
        ("wrong_gradient", "aot_autograd", data.GRADIENT, ["exact = run", "main()"]),
    ],
)
def test_the_nearest_to_the_suites_comes_first(
    kind: str, layer: str, source: str, styles: list[str]
) -> None:
    texts = list(render_tests(document(kind, layer, "torch.take"), data.text(source)))
    assert len(texts) == len(styles)
    for text, style in zip(texts, styles):
        body = text.split(f"def {method(document(kind, layer, 'torch.take'))}")[1]
        assert style in body
        assert "sys.exit" not in body and "assert same" not in body.replace("self.assert", "")
        imported = {
            alias.asname or alias.name.split(".")[0]
            for node in ast.parse(text).body
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        assert imported <= used, imported - used


def test_imports_are_those_that_are_used() -> None:
    text = "import torch\nimport sys\nfrom torch import nn\n\n\nx = torch.ones(copy.copy(1))\n"
    assert with_imports(text) == "import copy\n\nimport torch\n\n\nx = torch.ones(copy.copy(1))\n"


@pytest.mark.parametrize("kind", ["stale_graph", "hang", "accepts_invalid"])
def test_kinds_of_their_own_keep_the_repros_run(kind: str) -> None:
    report = HOME / kind / "report.json"
    if not report.exists():
        pytest.skip(f"no stored report of {kind}")
    import json

    stored = json.loads(report.read_text(encoding="utf-8"))
    text = next(render_tests(stored, (HOME / kind / "repro.py").read_text(encoding="utf-8")))
    assert "run(" in text.split("class TestRepro")[1] and "def main" not in text


@pytest.mark.releases
@pytest.mark.parametrize("kind", MENDED)
def test_it_fails_on_the_broken_and_passes_on_the_mended_release(
    kind: str, release_python: Callable[[str], Path]
) -> None:
    report = document(kind, "inductor", MENDED[kind][0])
    wanted = seen(run_cold(release_python("v26"), repro(kind), 300, describe=True))
    assert wanted is not None
    for rendered in render_tests(report, repro(kind)):
        test = formatted(rendered)
        probe = failing_text(test, report)
        assert judge(wanted)(run_cold(release_python("v26"), probe, 300, describe=True)), test
        right = run_cold(release_python("v213"), test, 300)
        assert right.exit == 0 and "OK" in right.stderr and "skipped" not in right.stderr


def test_a_test_that_eager_cannot_run_is_skipped() -> None:
    pytest.importorskip("torch")
    text = repro("crash").replace("torch.frexp(x)", "torch.no_such_function(x)")
    test = formatted(next(render_tests(document("crash", "inductor", "torch.frexp"), text)))
    answer = run_cold(Path(sys.executable), test, 120)
    assert answer.exit == 0 and "skipped=1" in answer.stderr


def test_a_handler_that_only_prints_stays_one() -> None:
    """What `accepts_invalid` is made of: eager must raise, and says what."""
    repro = (
        "import sys\nimport torch\n\n\ndef repro(x):\n    return x\n\n\ndef inputs():\n    return (torch.ones(1),)\n\n\n"
        "def run(compile):\n    model = repro\n    args = inputs()\n    return compile(model)(*args)\n\n\n"
        "def main():\n    try:\n        run(lambda model: model)\n    except Exception as error:\n        print(error)\n"
        "    else:\n        sys.exit(125)\n    run(torch.compile)\n    raise AssertionError('accepted')\n\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    report = {
        "verdict": {"kind": "accepts_invalid", "layer": "inductor", "summary": "s"},
        "repro": {"operators": []},
    }
    for text in render_tests(report, repro):
        ast.parse(text)

"""The texts of `test_repro.py`: in the style of torch's suites, nearest to them first."""

from __future__ import annotations

import ast
import json

import pytest

from templates.regression import method, render_test, render_tests, with_imports
from tests.support import outgoing_data as data
from tests.support.golden import HOME
from tests.support.mended import document
from tests.support.scripts import text

REPRO = data.text(data.CRASH)


def test_regression_test_holds_the_text_of_the_repro() -> None:
    source = render_test(data.crash_report().to_json(), REPRO)
    ast.parse(source)
    assert REPRO.split("import torch")[1].split("def run")[0].strip() in source
    assert source.count("if __name__") == 1 and "def test_crash_sigmoid_randperm(self):" in source
    assert "self.common(model, args)" in source
    with pytest.raises(ValueError, match="main"):
        render_test(data.crash_report().to_json(), "x = 1\n")


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
    for rendered, style in zip(texts, styles):
        body = rendered.split(f"def {method(document(kind, layer, 'torch.take'))}")[1]
        assert style in body
        assert "sys.exit" not in body and "assert same" not in body.replace("self.assert", "")
        imported = {
            alias.asname or alias.name.split(".")[0]
            for node in ast.parse(rendered).body
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        used = {node.id for node in ast.walk(ast.parse(rendered)) if isinstance(node, ast.Name)}
        assert imported <= used, imported - used


def test_imports_are_those_that_are_used() -> None:
    unused = "import torch\nimport sys\nfrom torch import nn\n\n\nx = torch.ones(copy.copy(1))\n"
    assert with_imports(unused) == "import copy\n\nimport torch\n\n\nx = torch.ones(copy.copy(1))\n"


@pytest.mark.parametrize("kind", ["stale_graph", "hang", "accepts_invalid"])
def test_kinds_of_their_own_keep_the_repros_run(kind: str) -> None:
    folder = HOME / kind
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    rendered = next(render_tests(report, (folder / "repro.py").read_text(encoding="utf-8")))
    assert "run(" in rendered.split("class TestRepro")[1] and "def main" not in rendered


def test_a_handler_that_only_prints_stays_one() -> None:
    """What `accepts_invalid` is made of: eager must raise, and where it does not there is nothing
    to test.
    """
    report = document("accepts_invalid", "inductor")
    ours, whole = render_tests(report, text("regression/accepts_invalid"))
    handlers = []
    for rendered in (ours, whole):
        tries = [node for node in ast.walk(ast.parse(rendered)) if isinstance(node, ast.Try)]
        (eager,) = [node for node in tries if node.orelse]
        handlers.append([ast.unparse(line) for line in (*eager.handlers[0].body, *eager.orelse)])
    assert handlers == [
        ["pass", "self.skipTest('eager passes here')"],
        ["print(error)", "sys.exit(125)"],
    ]

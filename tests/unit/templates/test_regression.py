"""The texts of `test_repro.py`: in the style of torch's suites, nearest to them first."""

from __future__ import annotations

import ast

import pytest

from reporter.publish.torch_report import summarize_failure
from templates.regression import add_imports, name_method, render_test, render_tests
from tests.support import outgoing_data as data
from tests.support.mended import failure
from tests.support.scripts import text

REPRO = data.text(data.CRASH)


def test_a_plain_repro_is_the_body_of_the_test() -> None:
    nested, flat = render_tests(failure("crash", "inductor", "torch.frexp"), text("plain/crash"))
    inside = nested.split("def test_crash_frexp(self):")[1]
    assert "        def fn(x, y):" in inside and "        torch.compile(fn)(x, y)" in inside
    assert "\ndef fn(x, y):" in flat and "        torch.compile(fn)(x, y)" in flat
    assert "from torch._inductor.test_case import" in nested and "sys.exit" not in nested
    with pytest.raises(ValueError, match="nothing to call"):
        render_test(failure("crash", "inductor"), "import torch\n")


def test_the_test_gives_a_setting_back() -> None:
    shown = failure("wrong_result", "dynamo", "torch.sin")
    rendered = render_test(shown, text("plain/settings"))
    ast.parse(rendered)
    (above,) = [line for line in rendered.splitlines() if line.startswith("    @")]
    assert above == '    @torch._inductor.config.patch({"fallback_random": True})'
    assert "fallback_random = True" not in rendered
    assert "import torch._inductor.config" in rendered


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
    assert name_method(failure("crash", "inductor", *operators)) == name


def test_a_repro_in_the_harness_is_called_by_its_main() -> None:
    (rendered,) = render_tests(summarize_failure(data.crash_report()), REPRO)
    ast.parse(rendered)
    assert REPRO.split("import torch")[1].split("if __name__")[0].strip() in rendered
    assert rendered.count("if __name__") == 1 and "            main()\n" in rendered


def test_imports_are_those_that_are_used() -> None:
    unused = "import torch\nimport sys\nimport copy\n\n\nx = torch.ones(copy.copy(1))\n"
    assert add_imports(unused) == "import copy\n\nimport torch\n\n\nx = torch.ones(copy.copy(1))\n"

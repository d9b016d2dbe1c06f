"""The check around a program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anonymizer.graph import emit
from anonymizer.graph.repro import ReproBody, ReproCheck
from anonymizer.harness.text import render_harness
from tests.support.graphs import chain


@pytest.mark.parametrize(
    "kind",
    [
        "crash",
        "wrong_result",
        "wrong_gradient",
        "wrong_metadata",
        "accepts_invalid",
        "process_death",
        "hang",
        "stale_graph",
    ],
)
def test_every_kind_renders_to_a_valid_repro_without_what_the_safety_list_names(kind: str) -> None:
    backward = "sum" if kind == "wrong_gradient" else "none"
    check = ReproCheck(kind, property="dtype", backward=backward, contexts=("torch.no_grad()",))
    text = render_harness(emit.emit(chain(3, 1)), check)
    compile(text, "repro", "exec")
    for word in (
        "eval(",
        "exec(",
        "subprocess",
        "socket",
        "open(",
        "pickle",
        "torch.load",
        "base64",
    ):
        assert word not in text
    assert "def inputs(" in text and "def main():" in text and '__name__ == "__main__"' in text


def test_complex_inputs_are_complex128_where_others_are_float64() -> None:
    given = "return (torch.full((), 500, dtype=torch.complex64), 2)"
    body = ReproBody("def repro(x, y):\n    return x.exp() * y", "repro", (given,), False)
    check = ReproCheck("wrong_result", compiler="eager", double=True)
    text = render_harness(body, check)
    compile(text, "repro", "exec")
    assert "x.cdouble() if torch.is_complex(x) else x.double() if isinstance(x, torch.Tens" in text
    real = replace(body, inputs=(given.replace("complex64", "float32"),))
    assert "cdouble" not in render_harness(real, check)

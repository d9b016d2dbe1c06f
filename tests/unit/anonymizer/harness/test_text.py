"""The check around a program."""

from __future__ import annotations

import pytest

from anonymizer.graph import emit
from anonymizer.graph.repro import ReproCheck
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

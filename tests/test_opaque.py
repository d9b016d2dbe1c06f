"""Operators that nobody can look into, in a captured graph: the rest of the graph is still good for a repro."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonymizer.expressions import NotPublic
from anonymizer.ir import Graph
from anonymizer.ir_json import from_json
from anonymizer.values import recipe_for
from tests.watched import watch

pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

HEAD = """
import torch
from torch.utils.checkpoint import checkpoint

def backend(gm, inputs):
    def wrong(*args):
        out = gm(*args)
        return tuple(o + 1 for o in out)
    return wrong

T = torch.Tensor
"""
#: By what the operator returns: its definition, and what the program makes of it.
PROGRAMS = {
    "tensor": (
        "@torch.library.custom_op('acme::rows', mutates_args=())\n"
        "def rows(x: T) -> T:\n    return (x.abs() * 9).to(torch.uint8)\n"
        "rows.register_fake(lambda x: torch.empty_like(x, dtype=torch.uint8))\n",
        "rows(x * 2).amin(1) + 1",
    ),
    "tensors": (
        "@torch.library.custom_op('acme::split', mutates_args=())\n"
        "def split(x: T) -> tuple[T, T]:\n    return x + 1, x.sum(1)\n"
        "split.register_fake(lambda x: (torch.empty_like(x), x.new_empty(x.shape[0])))\n",
        "torch.tanh(split(x * 2)[1]).exp()",
    ),
    "nested": (
        "def stage(x):\n    return torch.sin(x)\n",
        "torch.cos(checkpoint(stage, x * 2, use_reentrant=False)).exp()",
    ),
    "changes": (
        "@torch.library.custom_op('acme::fill', mutates_args=('x',))\n"
        "def fill(x: T) -> None:\n    x.fill_(3)\n"
        "fill.register_fake(lambda x: None)\n",
        "[y := x * 2, fill(y), y.exp()][2]",
    ),
    "all": (
        "@torch.library.custom_op('acme::whole', mutates_args=())\n"
        "def whole(x: T) -> T:\n    return x + 1\n"
        "whole.register_fake(lambda x: torch.empty_like(x))\n",
        "whole(x * 2)",
    ),
}


def captured(name: str, folder: Path) -> dict[str, Any]:
    """The graph of a program whose backend is wrong, as the collectors send it."""
    definition, expression = PROGRAMS[name]
    text = (
        f"{HEAD}{definition}\ndef f(x):\n    return {expression}\n"
        "torch.compile(f, backend=backend)(torch.randn(4, 5))\n"
    )
    recording = watch(text, folder, 120)
    try:
        (finding,) = recording.findings
        answer = finding.lab.request({"op": "capture", "allow": [], "replay": False}, 60)
    finally:
        recording.close()
    (graph,) = answer["graphs"]
    assert isinstance(graph, dict)
    return graph


def graph_of(name: str, folder: Path) -> Graph:
    return from_json(captured(name, folder), recipe_for("plain"))


@pytest.mark.parametrize(
    ("name", "targets", "shape", "dtype"),
    [
        ("tensor", ["amin", "operator.add"], (4, 5), "uint8"),
        ("tensors", ["torch.tanh", "exp"], (4,), "float32"),
        ("nested", ["torch.cos", "exp"], (4, 5), "float32"),
    ],
)
def test_results_become_inputs_and_what_follows_stays(
    name: str, targets: list[str], shape: tuple[int, ...], dtype: str, tmp_path: Path
) -> None:
    graph = graph_of(name, tmp_path)
    assert [node.target for node in graph.nodes] == targets
    (item,) = graph.inputs
    assert (item.kind, item.meta.shape, item.meta.dtype) == ("input", shape, dtype)
    if dtype == "uint8":  # within the range that was seen
        assert item.recipe.kind == "randint" and item.recipe.high > 9


def test_no_word_of_the_operator_leaves_the_program(tmp_path: Path) -> None:
    assert "acme" not in str(captured("tensor", tmp_path))


def test_an_operator_that_changes_what_it_is_given_cannot_be_left_out(tmp_path: Path) -> None:
    assert captured("changes", tmp_path) == {"unsupported": "a custom operator"}


def test_nothing_is_left_where_all_results_are_the_operators(tmp_path: Path) -> None:
    with pytest.raises(NotPublic, match="everything depends on"):
        graph_of("all", tmp_path)

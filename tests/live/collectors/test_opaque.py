"""Operators that nobody can look into, in a captured graph: the rest of the graph is still good for
a repro.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import Graph
from anonymizer.graph.ir_json import read_graph
from anonymizer.graph.recipes import make_recipe_chooser
from reporter.recording import questions
from tests.support.recorded import recorded


@cache
def captured(name: str) -> dict[str, Any]:
    """The graph of a program whose backend is wrong, as the collectors send it; those inside of it
    come before it.
    """
    with TemporaryDirectory() as folder, recorded(f"opaque/{name}", Path(folder)) as recording:
        (finding,) = recording.findings
        answer = finding.call_session.request(questions.capture({"replay": False}), 120)
    *_, graph = answer["graphs"]
    assert isinstance(graph, dict)
    return graph


def graph_of(name: str) -> Graph:
    return read_graph(captured(name), make_recipe_chooser("plain"))


@pytest.mark.parametrize(
    ("name", "targets", "shape", "dtype"),
    [
        ("tensor", ["amin", "operator.add"], (4, 5), "uint8"),
        ("tensors", ["torch.tanh", "exp"], (4,), "float32"),
        ("nested", ["torch.cos", "exp"], (4, 5), "float32"),
    ],
)
def test_results_become_inputs_and_what_follows_stays(
    name: str, targets: list[str], shape: tuple[int, ...], dtype: str
) -> None:
    graph = graph_of(name)
    assert [node.target for node in graph.nodes] == targets
    (item,) = graph.inputs
    assert (item.kind, item.meta.shape, item.meta.dtype) == ("input", shape, dtype)
    if dtype == "uint8":  # within the range that was seen
        assert item.recipe.kind == "randint" and item.recipe.high > 9


def test_no_word_of_the_operator_leaves_the_program() -> None:
    assert "acme" not in str(captured("tensor"))


def test_an_operator_that_changes_what_it_is_given_cannot_be_left_out() -> None:
    assert captured("changes") == {"unsupported": "a custom operator"}


def test_nothing_is_left_where_all_results_are_the_operators() -> None:
    with pytest.raises(NotPublicError, match="everything depends on"):
        graph_of("all")

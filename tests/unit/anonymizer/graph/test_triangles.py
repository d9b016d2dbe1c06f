"""Functions that read one triangle: which programs have a derivative that differences can tell."""

from __future__ import annotations

from typing import Any

import pytest

from anonymizer.graph.ir import Graph, Node, Ref
from anonymizer.graph.triangles import is_differentiable, reads_triangle
from tests.support.graphs import call, tensor

A, B, CUT = Ref("a"), Ref("b"), Ref("cut")


def program(cut: str, operator: str, *args: Any, cut_by: Any = (), **named: Any) -> Graph:
    """A function of a factor that goes through `cut` first."""
    nodes = (
        Node("cut", "method", cut, (A, *cut_by)),
        call("out", f"torch.{operator}", *args, **named),
    )
    return Graph((tensor("a"), tensor("b")), nodes, (Ref("out"),))


@pytest.mark.parametrize(
    ("graph", "holds"),
    [
        (program("tril", "cholesky_inverse", CUT), True),
        (program("tril", "cholesky_inverse", CUT, False), True),
        (program("triu", "cholesky_inverse", CUT, True), True),
        (program("triu", "cholesky_inverse", CUT, upper=True), True),
        (program("tril", "cholesky_solve", B, CUT), True),
        (program("tril", "cholesky_inverse", A), False),  # another value is cut
        (program("triu", "cholesky_inverse", CUT), False),
        (program("tril", "cholesky_inverse", CUT, upper=True), False),
        (program("tril", "cholesky_inverse", CUT, cut_by=(1,)), False),  # another diagonal
        (program("tril", "cholesky_solve", CUT, B), False),
        (program("tril", "sin", A), True),
    ],
)
def test_what_reads_a_triangle_has_a_derivative_where_it_is_given_that_alone(
    graph: Graph, holds: bool
) -> None:
    assert is_differentiable(graph) is holds


def test_a_text_tells_whether_a_triangle_is_read() -> None:
    assert reads_triangle("def repro(x):\n    return x.tril().cholesky_inverse()")
    assert not reads_triangle("def repro(x):\n    return torch.linalg.cholesky(x)")

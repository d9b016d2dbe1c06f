"""The graph IR by itself."""

from __future__ import annotations

import pytest

from anonymizer.graph.ir import Graph, Node, Ref, find_written_inputs, prune
from tests.support.graphs import META, call, tensor


def test_pruning_keeps_in_place_operations() -> None:
    graph = Graph(
        (tensor("x0"),),
        (
            Node("a", "method", "add_", (Ref("x0"), 1), (), META),
            call("b", "torch.sin", Ref("x0")),
            call("c", "torch.cos", Ref("x0")),
        ),
        (Ref("c"),),
    )
    assert [node.name for node in prune(graph).nodes] == ["a", "c"]


@pytest.mark.parametrize(
    ("target", "operator"),
    [
        ("operator.iadd", "add"),
        ("__radd__", "add"),
        ("operator.itruediv", "div"),
        ("operator.floordiv", "floor_divide"),
        ("operator.ior", "bitwise_or"),
        ("operator.and_", "bitwise_and"),
        ("masked_fill_", "masked_fill"),
        ("torch.rand", "rand"),
        ("torch.index_add", "index_add"),
    ],
)
def test_an_operator_of_python_has_its_name_in_aten(target: str, operator: str) -> None:
    assert Node("a", "function", target).plain_operator == operator


def test_every_operator_of_python_in_place_writes() -> None:
    nodes = (call("a", "operator.ior", Ref("x0"), Ref("x1")),)
    graph = Graph((tensor("x0"), tensor("x1")), nodes, (Ref("x1"),))
    assert find_written_inputs(graph) == {"x0"}
    assert prune(graph).nodes == nodes

"""The graph IR by itself."""

from __future__ import annotations

from anonymizer.graph.ir import Graph, Node, Ref, prune
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

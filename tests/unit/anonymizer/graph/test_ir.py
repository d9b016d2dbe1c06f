"""The graph IR by itself."""

from __future__ import annotations

import pytest

from anonymizer.graph.ir import Graph, Node, Ref, Seq, StockLayer, find_written_inputs, prune
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


IN_PLACE = call("a", "torch.nn.functional.relu", Ref("x0"), inplace=True)
BY_POSITION = call("a", "torch.nn.functional.hardtanh", Ref("x0"), 0, 1, True)
LAYER = Node(
    "a",
    "module",
    "torch.nn.ReLU",
    (Ref("x0"),),
    (),
    META,
    (),
    StockLayer("ReLU", (("inplace", True),)),
)
OUT = call("a", "torch.add", Ref("x1"), 1, out=Ref("x0"))
OF_LIST = call("a", "torch._foreach_add_", Seq("list", (Ref("x0"), Ref("v"))), 1)


@pytest.mark.parametrize("write", [IN_PLACE, BY_POSITION, LAYER, OUT, OF_LIST])
def test_what_an_argument_says_to_be_in_place_writes(write: Node) -> None:
    """`F.relu(x, inplace=True); x.mul(2)` is another program without its first statement."""
    view = call("v", "torch.ravel", Ref("x1"))
    read = call("b", "torch.mul", Ref("x0"), 2)
    graph = Graph((tensor("x0"), tensor("x1")), (view, write, read), (Ref("b"),))
    assert write in prune(graph).nodes
    assert find_written_inputs(graph) == {"x0"}


@pytest.mark.parametrize(
    "node",
    [
        call("a", "operator.and_", Ref("x0"), Ref("x1")),
        call("a", "torch.add", Ref("x0"), Ref("x1"), out=None),
        call("a", "torch.nn.functional.dropout", Ref("x0"), 0.5, True),
        call("a", "torch.nn.functional.hardtanh", Ref("x0"), 0, 1, False),
        Node("a", "method", "__and__", (Ref("x0"), Ref("x1"))),
    ],
)
def test_what_only_looks_like_a_write_is_none(node: Node) -> None:
    graph = Graph((tensor("x0"), tensor("x1")), (node,), (Ref("x1"),))
    assert not prune(graph).nodes and not find_written_inputs(graph)


def test_the_result_lies_where_out_does() -> None:
    nodes = (
        call("a", "torch.add", Ref("x0"), 1, out=Ref("x1")),
        Node("b", "method", "mul_", (Ref("a"), 2)),
    )
    graph = Graph((tensor("x0"), tensor("x1")), nodes, (Ref("b"),))
    assert find_written_inputs(graph) == {"x1"}

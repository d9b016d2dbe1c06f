"""Pieces of graphs: programs of their own, equal wherever they stand."""

from __future__ import annotations

from anonymizer.graph import emitter
from anonymizer.graph.ir import Atom, Graph, Input, Node, Recipe, Ref, TensorMeta
from anonymizer.graph.repro import ReproAssertion
from anonymizer.harness.text import render_harness
from reporter.core.candidate import Candidate
from reporter.reduce.pieces import (
    BEFORE_CONES,
    PieceExtractor,
    list_larger_pieces,
    list_piece_levels,
    merge_pieces,
)
from tests.support.graphs import META, build_blocks, call, chain, tensor


def test_a_piece_comes_with_its_region_its_sizes_and_its_tuple() -> None:
    nodes = (
        Node("a", "enter", "torch.autocast", ("cpu", Atom("torch.bfloat16"), True, True), (), None),
        Node("s", "method", "size", (Ref("x0"), 1), (), "int"),
        call("t", "torch.chunk", Ref("x0"), 2, -1, meta=(META, META)),
        call("u", "operator.getitem", Ref("t"), 0),
        call("v", "torch.mul", Ref("u"), Ref("s")),
        Node("e", "exit", "exit", (Ref("a"),), (), None),
        call("w", "torch.sin", Ref("v")),
    )
    graph = Graph((tensor("x0"),), nodes, (Ref("w"),))
    extractor = PieceExtractor(graph)
    alone = extractor.extract(["v"])
    assert alone is not None
    assert [node.op for node in alone.nodes] == ["enter", "method", "function", "exit"]
    assert len(alone.inputs) == 2  # what it multiplies, and the tensor whose size it takes
    text = Candidate(alone, ReproAssertion("crash")).render()
    assert "with torch.autocast" in text and ".size(1)" in text
    chunk = extractor.extract(["t"])
    assert chunk is not None and [node.target for node in chunk.nodes][1:3] == [
        "torch.chunk",
        "operator.getitem",
    ]
    assert extractor.extract(["w"]) is not None and "autocast" not in str(extractor.extract(["w"]))


def test_equal_pieces_are_equal_wherever_they_stand() -> None:
    graph = build_blocks(20, "torch.sinh", 4)
    first = next(list_piece_levels(graph, ()))
    assert first == []  # nothing is named
    extractor = PieceExtractor(graph)
    assert extractor.extract(["n7"]) == extractor.extract(["n13"])
    kinds = [len(level) for level in list_piece_levels(graph)]
    assert kinds[3] == 7  # six operations and the culprit


def test_what_no_right_output_is_computed_from_comes_first() -> None:
    graph = Graph(
        (tensor("x"),),
        (
            call("a", "torch.sin", Ref("x")),
            call("b", "torch.relu", Ref("a")),
            call("c", "torch.cos", Ref("a")),
            call("d", "torch.exp", Ref("c")),
        ),
        (Ref("b"), Ref("d")),
    )

    def list_operators(*wrong: int) -> list[str]:
        level = list(list_piece_levels(graph, (), wrong))[BEFORE_CONES - 1]
        return [piece.nodes[0].plain_operator for piece in level]

    assert list_operators(1) == ["cos", "exp", "sin", "relu"]
    assert list_operators(0) == ["relu", "sin", "cos", "exp"]
    # nothing is known, all is wrong, or the positions are those of another program: unusual ones
    for wrong in ((), (0, 1), (2,)):
        assert list_operators(*wrong) == ["sin", "cos", "exp", "relu"]


def test_a_batch_keeps_its_pieces_apart() -> None:
    one = Graph((tensor("i0"),), (call("n0", "torch.sin", Ref("i0")),), (Ref("n0"),))
    two = Graph(
        (Input("i0", "input", TensorMeta((2,), "int64"), Recipe("randint", 0, 2)),),
        (call("n0", "torch.cos", Ref("i0")),),
        (Ref("n0"),),
    )
    whole = merge_pieces([one, two])
    assert whole.statements == 2 and len(whole.inputs) == 2 and len(whole.outputs) == 2
    assert len(set(whole.list_names())) == 4


def test_pieces_of_a_graph_are_programs() -> None:
    graph = chain(25, 3)
    for piece in list_larger_pieces(graph):
        text = render_harness(emitter.emit(piece), ReproAssertion("wrong_result"))
        compile(text, "piece", "exec")

"""Pieces of graphs and the search among them, on the host alone: the failure is a predicate over texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from anonymizer.harness import Check
from anonymizer.ir import Atom, Graph, Input, Node, Recipe, Ref, TensorMeta
from reporter.candidate import Candidate
from reporter.reduce.answer import Answer
from reporter.reduce.pieces import Cutter, levels, quilt
from reporter.reduce.questions import Questions
from reporter.reduce.scheduler import Scheduler
from reporter.reduce.slices import Slices, evidence
from tests.test_graph_reduction import META, TextPool, call, tensor


def deep(blocks: int, culprit: str, at: int) -> Graph:
    """`blocks` equal blocks of six different operations; block `at` has `culprit` in place of its `tanh`."""
    nodes: list[Node] = []
    previous = "x0"
    for block in range(blocks):
        for target in ("sin", "cos", "exp", "tanh", "sqrt", "abs"):
            name = f"n{len(nodes)}"
            chosen = culprit if (target, block) == ("tanh", at) else f"torch.{target}"
            nodes.append(Node(name, "function", chosen, (Ref(previous),), (), META, (block,)))
            previous = name
    entry = Input("x0", "input", META, Recipe("randn"))
    return Graph((entry,), tuple(nodes), (Ref(previous),))


def search(
    graph: Graph, fails: Callable[[str], str], failure: dict[str, Any] | None = None
) -> tuple[Candidate | None, list[str]]:
    """What the search finds, and every text it asked about; `fails` says the outcome."""
    asked: list[str] = []

    class Pool(TextPool):
        def submit(self, text: str, timeout: float | None = None, overrides: Any = None) -> Any:
            asked.append(text)
            future = super().submit(text, timeout, overrides)
            answer = Answer(fails(text))  # type: ignore[arg-type]
            future._result = answer  # type: ignore[attr-defined]
            return future

    ask = Questions(
        Scheduler(Pool(lambda _: False), lambda answer: answer.outcome == "fails"), lambda _: None
    )
    found = Slices(ask, lambda piece: Candidate(piece, Check("crash"))).find(graph, failure)
    return found, asked


def test_a_deeper_model_costs_no_more_questions() -> None:
    def outcome(text: str) -> str:
        return "fails" if "torch.sinh" in text else "passes"

    counts = {}
    for blocks in (4, 40, 330):
        found, asked = search(deep(blocks, "torch.sinh", blocks * 2 // 3), outcome)
        assert found is not None and isinstance(found.content, Graph)
        assert found.content.statements == 1
        counts[blocks] = len(asked), max(len(text) for text in asked)
    assert counts[330] == counts[40] == counts[4]


def test_what_the_failure_names_is_asked_first() -> None:
    failure = {"message": "LoweringException: target: aten.sinh.default", "frames": []}
    found, asked = search(
        deep(50, "torch.sinh", 20), lambda text: "fails" if "sinh" in text else "passes", failure
    )
    assert found is not None and len(asked) == 1


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (None, set()),
        ({"message": "target: aten.take.default", "frames": []}, {"take"}),
        ({"message": "", "first_line": "torch.ops.aten._foo_", "frames": []}, {"foo"}),
        (
            {
                "message": "no",
                "frames": [{"file": "torch/_inductor/lowering.py", "function": "index_put_"}],
            },
            {"index_put"},
        ),
        ({"message": "no", "frames": [{"file": "torch/fx/graph.py", "function": "run"}]}, set()),
        ({"message": "no", "kernels": ["cpp_fused_add_layer_norm_2"]}, {"add", "layer_norm"}),
    ],
)
def test_evidence(failure: dict[str, Any] | None, words: set[str]) -> None:
    assert words <= evidence(failure)
    assert bool(words) == bool(evidence(failure) - {"ops"})


def test_two_operations_that_fail_together_are_found_as_one_piece() -> None:
    nodes = deep(30, "torch.sinh", 10).nodes
    texts_with_both = "torch.sinh", "torch.exp"
    graph = Graph((tensor("x0"),), nodes, (Ref(nodes[-1].name),))

    def outcome(text: str) -> str:
        # sinh of what exp has just computed, in one expression chain of the same program
        lines = [line.strip() for line in text.splitlines()]
        exps = {line.split(" = ")[0] for line in lines if "torch.exp(" in line and " = " in line}
        return "fails" if any(f"torch.sinh({name})" in text for name in exps) else "passes"

    found, _ = search(graph, outcome)
    assert found is not None and isinstance(found.content, Graph)
    assert found.content.statements == 2
    assert all(word in found.text() for word in texts_with_both)


def test_a_piece_that_eager_refuses_does_not_hide_the_others() -> None:
    def outcome(text: str) -> str:
        if "torch.abs" in text:
            return "cannot_judge"
        return "fails" if "torch.sinh" in text else "passes"

    found, _ = search(deep(8, "torch.sinh", 3), outcome)
    assert found is not None and "torch.sinh" in found.text() and "torch.abs" not in found.text()


def test_nothing_is_found_where_nothing_small_fails() -> None:
    found, asked = search(deep(100, "torch.sinh", 50), lambda text: "passes")
    assert found is None
    assert len(asked) < 24


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
    cutter = Cutter(graph)
    alone = cutter.cut(["v"])
    assert alone is not None
    assert [node.op for node in alone.nodes] == ["enter", "method", "function", "exit"]
    assert len(alone.inputs) == 2  # what it multiplies, and the tensor whose size it takes
    text = Candidate(alone, Check("crash")).text()
    assert "with torch.autocast" in text and ".size(1)" in text
    chunk = cutter.cut(["t"])
    assert chunk is not None and [node.target for node in chunk.nodes][1:3] == [
        "torch.chunk",
        "operator.getitem",
    ]
    assert cutter.cut(["w"]) is not None and "autocast" not in str(cutter.cut(["w"]))


def test_equal_pieces_are_equal_wherever_they_stand() -> None:
    graph = deep(20, "torch.sinh", 4)
    first = next(levels(graph, ()))
    assert first == []  # nothing is named
    cutter = Cutter(graph)
    assert cutter.cut(["n7"]) == cutter.cut(["n13"])
    kinds = [len(level) for level in levels(graph)]
    assert kinds[3] == 7  # six operations and the culprit


def test_a_quilt_keeps_its_pieces_apart() -> None:
    one = Graph((tensor("i0"),), (call("n0", "torch.sin", Ref("i0")),), (Ref("n0"),))
    two = Graph(
        (Input("i0", "input", TensorMeta((2,), "int64"), Recipe("randint", 0, 2)),),
        (call("n0", "torch.cos", Ref("i0")),),
        (Ref("n0"),),
    )
    whole = quilt([one, two])
    assert whole.statements == 2 and len(whole.inputs) == 2 and len(whole.outputs) == 2
    assert len(set(whole.names())) == 4

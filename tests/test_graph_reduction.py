"""Emission and reduction of graphs on the host alone: the failure is a predicate over texts, so no torch is needed."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer import emit, harness
from anonymizer.expressions import NotPublic
from anonymizer.harness import Check
from anonymizer.ir import Atom, Graph, Input, Node, Recipe, Ref, Seq, TensorMeta, prune
from anonymizer.layouts import tensor_text
from reporter import reduction
from reporter.candidate import Candidate
from reporter.reduce import plainer
from reporter.reduce.answer import Answer
from reporter.reduce.pieces import parts
from reporter.reduce.questions import Questions, graph_of
from reporter.reduce.scheduler import Scheduler

META = TensorMeta((4, 8), "float32", (8, 1))


def tensor(name: str, kind: str = "input", shape: tuple[int, ...] = (4, 8), **more: Any) -> Input:
    return Input(name, kind, TensorMeta(shape, "float32", None, **more), Recipe("randn"))


def call(name: str, target: str, *args: Any, meta: Any = META, **kwargs: Any) -> Node:
    return Node(name, "function", target, args, tuple(kwargs.items()), meta)


def chain(length: int, culprit: int) -> Graph:
    """`length` unary operations, one of which is `sinh`."""
    nodes = []
    previous = "x0"
    for index in range(length):
        target = (
            "torch.sinh" if index == culprit else ("torch.sin", "torch.cos", "torch.exp")[index % 3]
        )
        nodes.append(call(f"n{index}", target, Ref(previous)))
        previous = f"n{index}"
    return Graph((tensor("x0"),), tuple(nodes), (Ref(previous),))


class TextPool:
    """A pool whose verdict is a predicate over the text; counts what it is asked."""

    jobs = 1

    def __init__(self, fails: Callable[[str], bool]) -> None:
        self.fails = fails
        self.asked = 0

    def submit(
        self, text: str, timeout: float | None = None, overrides: Any = None
    ) -> Future[Answer]:
        self.asked += 1
        compile(text, "candidate", "exec")  # every candidate is valid Python
        future: Future[Answer] = Future()
        future.set_result(Answer("fails" if self.fails(text) else "passes"))
        return future


def reduce_by(
    graph: Graph, fails: Callable[[str], bool], check: Check | None = None
) -> tuple[Candidate, int]:
    pool = TextPool(fails)
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    return reduction.reduce_graph(Candidate(graph, check or Check("crash")), ask), pool.asked


@given(st.integers(2, 60), st.data())
def test_one_culprit_is_isolated_wherever_it_is(length: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(0, length - 1))
    reduced, _ = reduce_by(chain(length, culprit), lambda text: "torch.sinh" in text)
    assert graph_of(reduced).statements == 1


def test_questions_grow_with_the_logarithm_of_the_graph() -> None:
    asked = {
        n: reduce_by(chain(n, n // 3), lambda text: "torch.sinh" in text)[1] for n in (100, 1600)
    }
    assert asked[1600] - asked[100] <= 4 * 4 * 2  # 4 doublings, a question or two each at both ends


def test_two_culprits_that_must_meet_stay_together() -> None:
    graph = Graph(
        (tensor("x0"),),
        (
            call("a", "torch.sinh", Ref("x0")),
            call("b", "torch.sin", Ref("a")),
            call("c", "torch.cosh", Ref("b")),
            call("d", "operator.add", Ref("c"), Ref("a")),
        ),
        (Ref("d"),),
    )
    reduced, _ = reduce_by(graph, lambda text: "torch.sinh" in text and "torch.cosh" in text)
    assert graph_of(reduced).statements == 2


def test_shapes_shrink_together_with_the_constants_made_from_them() -> None:
    view = Node("v", "method", "view", (Ref("x0"), 4, 2, 48), (), TensorMeta((4, 2, 48), "float32"))
    graph = Graph(
        (tensor("x0", shape=(4, 96)),), (view, call("s", "torch.sinh", Ref("v"))), (Ref("s"),)
    )

    def fails(text: str) -> bool:
        # valid only while the view matches its input, as torch would have it
        made = re.search(r"randn\((\d+), (\d+)\)", text)
        viewed = re.search(r"view\((\d+), (\d+), (\d+)\)", text)
        if not (made and viewed):
            return False
        product = int(viewed[1]) * int(viewed[2]) * int(viewed[3])
        return product == int(made[1]) * int(made[2])

    reduced, _ = reduce_by(graph, fails)
    item = graph_of(reduced).inputs[0]
    assert item.meta.shape == (2, 4)  # viewed as (2, 2, 2): one would be a special case of its own


def test_stock_layers_stand_for_parameters_of_their_own() -> None:
    graph = Graph(
        (tensor("x0", shape=(2, 3)), tensor("p1", "param", (5, 3)), tensor("p2", "param", (5,))),
        (call("y", "torch.nn.functional.linear", Ref("x0"), Ref("p1"), Ref("p2")),),
        (Ref("y"),),
    )
    text = emit.emit(graph).definitions
    assert "nn.Linear(3, 5)" in text and "return self.linear1(x)" in text


def test_a_shared_parameter_stays_a_parameter() -> None:
    graph = Graph(
        (tensor("x0", shape=(2, 3)), tensor("p1", "param", (3, 3))),
        (
            call("y", "torch.nn.functional.linear", Ref("x0"), Ref("p1")),
            call("z", "torch.nn.functional.linear", Ref("y"), Ref("p1")),
        ),
        (Ref("z"),),
    )
    text = emit.emit(graph).definitions
    assert "nn.Linear" not in text and text.count("nn.Parameter") == 1


def test_a_string_that_is_not_torchs_stops_the_emission() -> None:
    graph = Graph(
        (tensor("x0"),), (call("y", "torch.add", Ref("x0"), alpha="acme-secret"),), (Ref("y"),)
    )
    with pytest.raises(NotPublic):
        emit.emit(graph)


def test_a_private_function_stops_the_emission() -> None:
    graph = Graph((tensor("x0"),), (call("y", "acme.kernels.fused", Ref("x0")),), (Ref("y"),))
    with pytest.raises(NotPublic):
        emit.emit(graph)


def test_regions_become_with_statements_and_vanish_as_pairs() -> None:
    enter = Node("e", "enter", "torch.autocast", ("cpu", None, False, None))
    leave = Node("l", "exit", "exit", (Ref("e"),))
    graph = Graph((tensor("x0"),), (enter, call("y", "torch.sinh", Ref("x0")), leave), (Ref("y"),))
    assert 'with torch.autocast("cpu", enabled=False):' in emit.emit(graph).definitions
    reduced, _ = reduce_by(graph, lambda text: "torch.sinh" in text)
    assert "with" not in emit.emit(graph_of(reduced)).definitions


LAYOUTS = [
    ((2, 3), (3, 1), "torch.randn(2, 3)"),
    ((2, 3), (1, 2), "torch.randn(3, 2).t()"),
    ((2, 3, 4), (1, 2, 6), "torch.randn(4, 3, 2).permute(2, 1, 0)"),
    ((2, 3), (0, 1), "torch.randn(1, 3).expand(2, 3)"),
    ((2, 3), (10, 2), "torch.randn(15).as_strided((2, 3), (10, 2))"),
]


@pytest.mark.parametrize(("shape", "stride", "text"), LAYOUTS)
def test_a_layout_is_written_as_a_person_would(
    shape: tuple[int, ...], stride: tuple[int, ...], text: str
) -> None:
    assert tensor_text(TensorMeta(shape, "float32", stride), Recipe("randn"), shape) == text


def test_pieces_of_a_graph_are_programs() -> None:
    graph = chain(25, 3)
    for piece in parts(graph):
        text = harness.render(emit.emit(piece), Check("wrong_result"))
        compile(text, "piece", "exec")


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
    check = Check(kind, property="dtype", backward=backward, contexts=("torch.no_grad()",))
    text = harness.render(emit.emit(chain(3, 1)), check)
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


def test_an_index_is_written_with_brackets() -> None:
    index = Seq("tuple", (Atom("..."), Seq("slice", (None, 2, None))))
    graph = Graph((tensor("x0"),), (call("y", "operator.getitem", Ref("x0"), index),), (Ref("y"),))
    assert "x[..., :2]" in emit.emit(graph).definitions


def test_the_same_candidate_is_reduced_in_the_same_way() -> None:
    graph = replace(chain(30, 7))
    texts = {reduce_by(graph, lambda text: "torch.sinh" in text)[0].text() for _ in range(3)}
    assert len(texts) == 1


def test_two_culprits_far_apart_are_found_in_few_questions() -> None:
    graph = chain(300, 40)
    nodes = tuple(
        replace(node, target="torch.cosh") if node.name == "n260" else node for node in graph.nodes
    )
    reduced, asked = reduce_by(
        replace(graph, nodes=nodes), lambda text: "torch.sinh" in text and "torch.cosh" in text
    )
    assert graph_of(reduced).statements == 2
    assert asked < 80


def test_precision_and_device_change_everywhere_at_once() -> None:
    half = TensorMeta((4, 8), "float16", (8, 1), device="cuda")
    graph = Graph(
        (Input("x0", "input", half, Recipe("randn")),),
        (
            call("a", "torch.sinh", Ref("x0"), meta=half),
            Node("b", "method", "to", (Ref("a"), Atom("torch.float16")), (), half),
        ),
        (Ref("b"),),
    )
    # valid only while the cast agrees with the input, so that neither could change alone
    reduced, _ = reduce_by(
        graph, lambda text: "torch.sinh" in text and ".to(" in text and text.count("float16") != 1
    )
    assert "cuda" not in reduced.text() and "float16" not in reduced.text()


def test_a_sweep_keeps_each_change_that_holds_and_tries_each_once() -> None:
    asked: list[str] = []

    def fails(text: str) -> bool:
        asked.append(text)
        return "fullgraph" in text

    start = Candidate(
        chain(1, 0), Check("crash", arguments=tuple((n, "True") for n in ("a", "fullgraph", "b")))
    )
    ask = Questions(
        Scheduler(TextPool(fails), lambda answer: answer.outcome == "fails"), lambda _: None
    )
    reduced = plainer.Options().run(start, ask)
    assert [name for name, _ in reduced.check.arguments] == ["fullgraph"]
    assert len(asked) == len(set(asked)) == 3


_SURROUNDED = Check(
    "crash",
    arguments=(("dynamic", "True"), ("fullgraph", "True")),
    config=(("torch._inductor.config.cpp.threads", "1"),),
    contexts=("torch.no_grad()", "torch.inference_mode()"),
    backward="randn",
)
_CUBE = Graph(
    (tensor("x0", shape=(16, 3, 40)),), (call("s", "torch.sinh", Ref("x0")),), (Ref("s"),)
)


def test_what_needs_nothing_around_it_is_plain_after_one_question() -> None:
    reduced, asked = reduce_by(_CUBE, lambda text: "torch.sinh" in text, _SURROUNDED)
    assert reduced.check == Check("crash")
    assert graph_of(reduced).inputs[0].meta.shape == (1,)
    assert asked == 1


@pytest.mark.parametrize(
    "needed",
    ["torch.no_grad()", "fullgraph=True", "config.cpp.threads = 1", "backward", "(2, 2, 2)"],
)
def test_the_one_thing_that_is_needed_stays_when_all_else_goes_at_once(needed: str) -> None:
    reduced, asked = reduce_by(_CUBE, lambda text: "sinh" in text and needed in text, _SURROUNDED)
    plain, _ = reduce_by(_CUBE, lambda text: "sinh" in text, _SURROUNDED)
    extra = set(reduced.text().splitlines()) - set(plain.text().splitlines())
    assert needed in reduced.text() and asked < 25
    assert not any(word in "\n".join(extra) for word in ("dynamic", "inference_mode"))
    assert ("torch.randn(1)" in reduced.text()) is (needed != "(2, 2, 2)")


def test_fewer_dimensions_where_nothing_needs_them() -> None:
    graph = Graph(
        (tensor("x0", shape=(2, 3, 4, 5)),), (call("s", "torch.sinh", Ref("x0")),), (Ref("s"),)
    )
    reduced, _ = reduce_by(graph, lambda text: "torch.sinh" in text)
    assert len(graph_of(reduced).inputs[0].meta.shape) == 1


def test_size_arithmetic_stays_symbolic_where_the_failure_needs_it() -> None:
    """A size read from a tensor is never replaced by its number, whatever is cut around it."""
    size = Node("s", "method", "size", (Ref("n1"), 1), (), "int")
    twice = Node("t", "function", "operator.mul", (Ref("s"), 2), (), "int")
    nodes = (*chain(3, 9).nodes, size, twice, call("v", "torch.arange", Ref("t")))
    graph = Graph((tensor("x0"),), (*nodes, call("w", "torch.sinh", Ref("v"))), (Ref("w"),))
    check = Check("crash", arguments=(("dynamic", "True"),))

    def fails(text: str) -> bool:
        symbolic = re.search(r"torch\.arange\(\w+\.size\(1\) \* 2\)", text)
        return symbolic is not None and "dynamic=True" in text

    reduced, _ = reduce_by(graph, fails, check)
    assert graph_of(reduced).statements == 1
    assert "torch.arange(x.size(1) * 2)" in reduced.text()

"""Inputs with fewer dimensions, and the operators that name one of them."""

from __future__ import annotations

import re

import pytest

from anonymizer.graph.ir import Graph, Node, Ref
from anonymizer.graph.repro import ReproAssertion
from reporter.core.candidate import Candidate
from reporter.reduce import shapes
from reporter.reduce.candidate_questions import Questions, SweepPass, require_graph
from reporter.reduce.scheduler import Scheduler
from tests.support.graphs import META, TextPool, call, failing, tensor


def _reduce(graph: Graph) -> Graph:
    """The graph with the fewest dimensions where `cumsum` or `unfold` names one that its input
    has.
    """

    def fails(text: str) -> bool:
        shape = re.search(r"randn\(\(?([\d, ]+)", text)
        dimension = re.search(r"(?:cumsum\(x, |unfold\()(-?\d)", text)
        assert shape is not None and dimension is not None, text
        return int(dimension[1]) < len(re.findall(r"\d+", shape[1]))

    pool = TextPool(failing(fails))
    ask = Questions(Scheduler(pool, lambda answer: answer.failed), lambda _: None)
    candidate = Candidate(graph, ReproAssertion("crash"))
    return require_graph(SweepPass((shapes.propose_ranks,)).run(candidate, ask))


@pytest.mark.parametrize(("dimension", "left"), [(2, 0), (1, 0), (0, 0), (-1, -1)])
def test_the_dimension_of_an_operator_follows_the_rank(dimension: int, left: int) -> None:
    nodes = (call("a", "torch.cumsum", Ref("x"), dimension),)
    reduced = _reduce(Graph((tensor("x", shape=(2, 4, 8)),), nodes, (Ref("a"),)))
    assert reduced.inputs[0].meta.shape == (8,) and reduced.nodes[0].args[1] == left


def test_a_size_beside_the_dimension_stays() -> None:
    nodes = (Node("a", "method", "unfold", (Ref("x"), 1, 1, 1), (), META),)
    reduced = _reduce(Graph((tensor("x", shape=(4, 8)),), nodes, (Ref("a"),)))
    assert reduced.nodes[0].args[1:] == (0, 1, 1)


def test_long_rows_become_as_long_as_a_vector_of_the_processor() -> None:
    nodes = (call("a", "torch.neg", Ref("x")),)
    graph = Graph((tensor("x", shape=(72, 37)),), nodes, (Ref("a"),))
    changes = list(shapes.propose_sizes(Candidate(graph, ReproAssertion("crash"))))
    shrunk = changes[-1](Candidate(graph, ReproAssertion("crash")))
    assert shrunk is not None and require_graph(shrunk).inputs[0].meta.shape == (2, 16)
    small = Graph((tensor("x", shape=(72, 9)),), nodes, (Ref("a"),))
    assert changes[-1](Candidate(small, ReproAssertion("crash"))) is None

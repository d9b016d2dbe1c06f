"""A graph is written as a person would have written the program, or not at all."""

from __future__ import annotations

import pytest

from anonymizer.graph import emit
from anonymizer.graph.expressions import NotPublic
from anonymizer.graph.ir import Atom, Graph, Ref, Seq
from tests.support.graphs import call, tensor


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


def test_an_index_is_written_with_brackets() -> None:
    index = Seq("tuple", (Atom("..."), Seq("slice", (None, 2, None))))
    graph = Graph((tensor("x0"),), (call("y", "operator.getitem", Ref("x0"), index),), (Ref("y"),))
    assert "x[..., :2]" in emit.emit(graph).definitions

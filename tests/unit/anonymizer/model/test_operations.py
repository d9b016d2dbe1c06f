"""Operations of a trace as expressions."""

from __future__ import annotations

from anonymizer.graph.expressions import ExpressionWriter
from anonymizer.graph.ir import Node, Ref
from anonymizer.model.body.operations import write_operation


def test_a_negative_base_is_not_the_negative_of_a_power() -> None:
    node = Node("y", "method", "__rpow__", (Ref("x"), -2))
    assert write_operation(node, ExpressionWriter(str)) == "(-2) ** x"

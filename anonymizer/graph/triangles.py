"""Derivatives that are limits of differences only where a function is given what it reads."""

from __future__ import annotations

from anonymizer.graph.ir import Graph, Node, Ref
from collectors.protocol.repro_words import TRIANGLES


def is_differentiable(graph: Graph) -> bool:
    """Whether every function that reads one triangle is given that triangle alone, so that finite
    differences say what its derivative is.
    """
    return all(
        _is_given_triangle(graph, node) for node in graph.nodes if node.operator in TRIANGLES
    )


def reads_triangle(text: str) -> bool:
    """Whether a program's text calls a function that reads one triangle: what makes that triangle
    has to stay.
    """
    return any(f"{name}(" in text for name in TRIANGLES)


def _is_given_triangle(graph: Graph, node: Node) -> bool:
    factor, flag = TRIANGLES[node.operator]
    is_upper = dict(node.kwargs).get("upper", node.args[flag] if len(node.args) > flag else False)
    given = node.args[factor] if len(node.args) > factor else None
    maker = graph.find_node(given.name) if isinstance(given, Ref) else None
    cut = ("triu" if is_upper else "tril", 1)
    return maker is not None and (maker.operator, len(maker.args) + len(maker.kwargs)) == cut

"""Derivatives that are limits of differences only where a function is given what it reads."""

from __future__ import annotations

from anonymizer.graph.ir import Graph, Node, Ref

#: Functions that read one triangle of a factor, with the places of the factor and of `upper`, as
#: `collectors.call.operators.derivatives` has them: with respect to the other triangle their
#: derivative is whatever torch's formula gives.
_TRIANGLES = {"cholesky_inverse": (0, 1), "cholesky_solve": (1, 2)}


def is_differentiable(graph: Graph) -> bool:
    """Whether every function that reads one triangle is given that triangle alone, so that finite
    differences say what its derivative is.
    """
    return all(
        _is_given_triangle(graph, node) for node in graph.nodes if node.operator in _TRIANGLES
    )


def reads_triangle(text: str) -> bool:
    """Whether a program's text calls a function that reads one triangle: what makes that triangle
    has to stay.
    """
    return any(f"{name}(" in text for name in _TRIANGLES)


def _is_given_triangle(graph: Graph, node: Node) -> bool:
    factor, flag = _TRIANGLES[node.operator]
    is_upper = dict(node.kwargs).get("upper", node.args[flag] if len(node.args) > flag else False)
    given = node.args[factor] if len(node.args) > factor else None
    maker = graph.find_node(given.name) if isinstance(given, Ref) else None
    cut = ("triu" if is_upper else "tril", 1)
    return maker is not None and (maker.operator, len(maker.args) + len(maker.kwargs)) == cut

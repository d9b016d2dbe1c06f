"""Whether a piece that is wrong alone is what makes the whole program wrong.

An operator may be wrong and its values never reach what the program returns: `where(mask, x, x)`
does not mind the mask. So the whole program is asked once more with the operators of the piece left
to eager. Where it fails all the same, the piece shows another fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from anonymizer.graph.ir import Graph
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Questions

#: Pieces of more operations are no single fault that could be left to eager.
_MOST = 3


def find_unreached(ask: Questions, piece: Candidate, whole: Candidate) -> tuple[str, ...]:
    """The operators of a piece that fails by itself, if the whole program fails without their
    lowerings as well: then the piece shows another fault.

    Args:
        piece: its content is a graph.

    Returns:
        The names that Inductor falls back for, such as `aten.sum.default`; none where the whole
        passes, or where that cannot be told.
    """
    assert isinstance(piece.content, Graph)
    for names in _list_spellings(piece.content):
        with ask.override({"fallback": list(names)}):
            # only what mends the piece says something about the whole
            if not ask.holds(piece) and ask.has_passed(piece):
                return names if ask.holds(whole) else ()
    return ()


def _list_spellings(graph: Graph) -> Iterator[tuple[str, ...]]:
    """Names of the piece's operators, under each overload that most operators have."""
    operators = dict.fromkeys(
        node.plain_operator
        for node in graph.nodes
        if node.counts and node.op in ("function", "method")
    )
    if 0 < len(operators) <= _MOST:
        for overload in ("default", "Tensor"):
            yield tuple(f"aten.{name}.{overload}" for name in operators)

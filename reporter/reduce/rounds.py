"""Reduction of a failing candidate: the passes in order, round after round, until a round changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from anonymizer.graph.ir import Graph
from reporter.core.candidate import Candidate
from reporter.reduce import passes, shapes, simplify, simplify_all
from reporter.reduce.questions import Pass, Questions

GRAPH_PASSES: Sequence[Pass] = (
    passes.Calls(),
    passes.Window(),
    passes.Delta(),
    passes.Outputs(),
    passes.Nodes(),
    # from here on a candidate is small, and each of the many questions cheap
    simplify_all.SimplifyAll(),
    simplify.PlainBackward(),
    simplify.PlainOptions(),
    simplify.Unstock(),
    simplify.Precision(),
    simplify.PlainInputs(),
    shapes.CallSizes(),
    shapes.Shapes(),
    shapes.Ranks(),
    shapes.DimByDim(),
    shapes.Literals(),
)
_ROUNDS = 3


def reduce_graph(candidate: Candidate, ask: Questions) -> Candidate:
    """The smallest graph candidate the passes reach."""
    for _ in range(_ROUNDS):
        before = candidate
        for step in GRAPH_PASSES:
            candidate = step.run(candidate, ask)
        if candidate == before:
            break
    return simplify.PlainOptions(last=True).run(candidate, ask)


def size_of(candidate: Candidate) -> str:
    """The size so far, for the progress display."""
    if isinstance(candidate.content, Graph):
        count = candidate.content.statements
        return f"{count} operation{'s' if count != 1 else ''}"
    return f"{len(candidate.text().splitlines())} lines"

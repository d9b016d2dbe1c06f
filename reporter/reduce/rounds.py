"""Reduction of a failing candidate: the passes in order, round after round, until a round changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from anonymizer.graph.ir import Graph
from reporter.core.candidate import Candidate
from reporter.reduce import passes, shapes, simplify, simplify_all
from reporter.reduce.questions import Pass, Questions

#: Fewer calls, operations and outputs.
SHORTER: Sequence[Pass] = (
    passes.Calls(),
    passes.Window(),
    passes.Delta(),
    passes.Outputs(),
    passes.Nodes(),
)
#: Plainer text around the same operations, what saves most lines first.
PLAINER: Sequence[Pass] = (
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
#: What later rounds leave out: bisection, since deleting single operations finds what has become
#: possible, and the guess at a common end, which has been wrong.
_ONCE = (passes.Window, simplify_all.SimplifyAll)
_ROUNDS = 3
#: Candidates that plainer text may cost, at least; else as many as the search took before.
_FOR_PLAINER = 32


def reduce_graph(candidate: Candidate, ask: Questions) -> Candidate:
    """The smallest graph candidate the passes reach."""
    asked_plainer = 0
    for number in range(_ROUNDS):
        before = candidate
        candidate = _run(SHORTER, candidate, ask, number)
        settled = ask.scheduler.counts.settled
        allowed = max(_FOR_PLAINER, settled - asked_plainer) - asked_plainer
        ask.most = settled + max(0, allowed)
        candidate = _run(PLAINER, candidate, ask, number)
        ask.most = None
        asked_plainer += ask.scheduler.counts.settled - settled
        if candidate == before:
            break
    return simplify.PlainOptions(last=True).run(candidate, ask)


def _run(steps: Sequence[Pass], candidate: Candidate, ask: Questions, number: int) -> Candidate:
    for step in steps:
        if number == 0 or not isinstance(step, _ONCE):
            candidate = step.run(candidate, ask)
    return candidate


def size_of(candidate: Candidate) -> str:
    """The size so far, for the progress display."""
    if isinstance(candidate.content, Graph):
        count = candidate.content.statements
        return f"{count} operation{'s' if count != 1 else ''}"
    return f"{len(candidate.text().splitlines())} lines"

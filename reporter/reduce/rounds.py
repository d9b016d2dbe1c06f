"""Reduction of a failing candidate: the passes in order, round after round, until a round changes
nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from anonymizer.graph.ir import Graph
from reporter.core.candidate import Candidate
from reporter.reduce import joint_simplification, passes, shapes, simplification
from reporter.reduce.candidate_questions import Changes, Pass, Questions, SweepPass
from templates.text import pluralize

#: What makes a program shorter, and then plainer.
_Round = tuple[Sequence[Pass], Sequence[Pass]]
#: Fewer operations and outputs.
_SHORTER: Sequence[Pass] = (passes.DeltaDebuggingPass(), passes.OutputPass(), passes.NodePass())
#: Plainer text around the same operations, what saves most lines first.
_PLAINER: Sequence[Changes] = (
    simplification.propose_backward,
    simplification.propose_options,
    simplification.propose_arguments,
    simplification.propose_precision,
    simplification.propose_inputs,
    shapes.propose_sizes,
)
_PLAINER_SIZES: Sequence[Pass] = (
    shapes.CallSizePass(),
    shapes.ShapePass(),
    SweepPass((shapes.propose_ranks, shapes.propose_dimensions, shapes.propose_literals)),
)
#: What the first round does, and what later ones leave out: bisection, since deleting single
#: operations finds what has become possible, and the guess at a common end, which has been wrong.
_FIRST: _Round = (
    (passes.CallPass(), passes.BisectionPass(), *_SHORTER),
    (SweepPass((joint_simplification.propose_everything, *_PLAINER)), *_PLAINER_SIZES),
)
_LATER: _Round = ((passes.CallPass(), *_SHORTER), (SweepPass(_PLAINER), *_PLAINER_SIZES))
#: When all else is done.
LAST = SweepPass((functools.partial(simplification.propose_options, with_backend=True),))
_ROUNDS = 3
#: Candidates that plainer text may cost, at least; else as many as the search took before.
_FOR_PLAINER = 32


def reduce_graph(candidate: Candidate, ask: Questions) -> Candidate:
    """The smallest graph candidate the passes reach."""
    asked_plainer = 0
    for shorter, plainer in (_FIRST, *[_LATER] * (_ROUNDS - 1)):
        before = candidate
        candidate = _run(shorter, candidate, ask)
        settled = ask.scheduler.counts.settled
        allowed = max(_FOR_PLAINER, settled - asked_plainer) - asked_plainer
        ask.most = settled + max(0, allowed)
        candidate = _run(plainer, candidate, ask)
        ask.most = None
        asked_plainer += ask.scheduler.counts.settled - settled
        if candidate == before:
            break
    return LAST.run(candidate, ask)


def reduce_under_default_backend(
    reduced: Candidate, options: Iterable[Candidate], ask: Questions
) -> Candidate:
    """The smallest program that fails under the default backend, where the reduced one fails only
    under the quicker one that it was reduced with.

    Args:
        reduced: the smallest program.
        options: larger ones to start from, of which the first that fails under the default backend
            is reduced there. Where none does, the result is `reduced`.
    """
    if simplification.drop_backend(reduced) is None:
        return reduced
    made = map(simplification.drop_backend, options)
    first = ask.find_first(option for option in made if option is not None)
    return reduced if first is None else reduce_graph(first, ask)


def _run(steps: Sequence[Pass], candidate: Candidate, ask: Questions) -> Candidate:
    for step in steps:
        candidate = step.run(candidate, ask)
    return candidate


def describe_size(candidate: Candidate) -> str:
    """The size so far, for the progress display."""
    if isinstance(candidate.content, Graph):
        return pluralize(candidate.content.statements, "operation")
    return f"{len(candidate.render().splitlines())} lines"

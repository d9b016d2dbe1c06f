"""All plain at once: the program that a long line of small steps would end with is asked first.

Each change of `simplify` and `shapes` costs a compile, and most failures need none of what these
take away. So a guess at their common end is worth one candidate; where it does not show the
failure, the changes are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from reporter.core.candidate import Candidate
from reporter.reduce import shapes, simplify
from reporter.reduce.graph_cuts import static
from reporter.reduce.questions import Change, graph_of


def everything(candidate: Candidate) -> Iterator[Change]:
    """Plain surroundings, inputs and sizes in one step, the plainest combination first.

    One element in a vector, without config assignments and with; then sizes of two; then only plain
    inputs. Dtypes stay, since half precision is often what a failure needs; a program of several
    calls stays as it is, whose sizes have a pass of their own.
    """
    if not candidate.check.calls:
        # the first has to be asked once anyway, and runs beside the next
        yield lambda c: simplify.without_config(_vector(c))
        yield _vector
        yield lambda c: shapes.plainest(simplify.bare(_plain(c)), 2)
        yield lambda c: simplify.bare(_plain(c)).with_check(arguments=c.check.arguments)


def _plain(candidate: Candidate) -> Candidate:
    plain = simplify.as_arguments(simplify.plainest_backward(candidate))
    return simplify.plainest_inputs(plain)


def _vector(candidate: Candidate) -> Candidate:
    bare = simplify.bare(_plain(candidate))
    fixed = bare.with_graph(static(graph_of(bare)))
    return shapes.plainest(shapes.plainest_ranks(fixed), 1)

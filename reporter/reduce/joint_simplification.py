"""All plain at once: the program that a long line of small steps would end with is asked first.

Each change of `simplification` and `shapes` costs a compile, and most failures need none of what
these take away. So a guess at their common end is worth one candidate; where it does not show the
failure, the changes are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from reporter.core.candidate import Candidate
from reporter.reduce import shapes, simplification
from reporter.reduce.candidate_questions import Change, require_graph
from reporter.reduce.graph_cuts import fix_sizes


def propose_everything(candidate: Candidate) -> Iterator[Change]:
    """Plain surroundings, inputs and sizes in one step, the plainest combination first.

    One element in a vector, without config assignments and with; then sizes of two; then only plain
    inputs. Dtypes stay, since half precision is often what a failure needs; a program of several
    calls stays as it is, whose sizes have a pass of their own.
    """
    if not candidate.assertion.calls:
        # the first has to be asked once anyway, and runs beside the next
        yield lambda c: simplification.drop_config(_make_vector(c))
        yield _make_vector
        yield lambda c: shapes.limit_sizes(simplification.strip_surroundings(_make_plain(c)), 2)
        yield lambda c: simplification.strip_surroundings(_make_plain(c)).with_assertion(
            arguments=c.assertion.arguments
        )


def _make_plain(candidate: Candidate) -> Candidate:
    plain = simplification.convert_to_arguments(simplification.simplify_backward(candidate))
    return simplification.simplify_inputs(plain)


def _make_vector(candidate: Candidate) -> Candidate:
    bare = simplification.strip_surroundings(_make_plain(candidate))
    fixed = bare.with_graph(fix_sizes(require_graph(bare)))
    return shapes.limit_sizes(shapes.simplify_ranks(fixed), 1)

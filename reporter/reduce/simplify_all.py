"""All plain at once: the program that a long line of small steps would end with is asked first.

Each step of `plainer` and `shapes` costs a compile, and most failures need none of what these steps
take away. So a guess at their common end is worth one candidate; where it does not show the
failure, the steps go their way.
"""

from __future__ import annotations

from collections.abc import Iterator

from reporter.core.candidate import Candidate
from reporter.reduce.graph_cuts import static
from reporter.reduce.questions import Questions, graph_of
from reporter.reduce.shapes import Ranks, Shapes
from reporter.reduce.simplify import PlainBackward, PlainInputs, PlainOptions, Unstock


class SimplifyAll:
    """Plain surroundings, inputs and sizes in one step, the plainest combination first.

    Dtypes stay, since half precision is often what a failure needs.
    """

    name = "leap"

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """The plainest end that still fails, else the candidate; a program of several calls stays
        as it is.
        """
        if candidate.check.calls:  # the sizes of several calls have a pass of their own
            return candidate
        return ask.first(end for end in self._ends(candidate) if end != candidate) or candidate

    @staticmethod
    def _ends(candidate: Candidate) -> Iterator[Candidate]:
        """One element in a vector, without config assignments and with; then sizes of two; then
        only plain inputs.
        """
        plain = PlainInputs().plainest(Unstock().plainest(PlainBackward().plainest(candidate)))
        bare = PlainOptions.plainest(plain)
        fixed = bare.with_graph(static(graph_of(bare)))
        vector = Shapes.plainest(Ranks().plainest(fixed), 1)
        yield PlainOptions.without_config(
            vector
        )  # has to be asked once anyway, and runs beside the next
        yield vector
        yield Shapes.plainest(bare, 2)
        yield PlainOptions.plainest(plain).with_check(arguments=candidate.check.arguments)

"""What is asked of candidates, and what is kept of those that cannot be asked about."""

from __future__ import annotations

import pytest

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import Graph, Ref
from anonymizer.graph.repro import ReproAssertion, ReproBody
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.scheduler import Scheduler
from tests.support.graphs import TextPool, call, failing, tensor


class Unwritten:
    """A program whose writer raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def build_body(self) -> ReproBody:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("private"), ["KeyError while writing a program"]),
        (AssertionError("private"), ["AssertionError while writing a program"]),
        (ZeroDivisionError("private"), ["ZeroDivisionError while writing a program"]),
        (NotPublicError("a string"), []),  # no fault of the writer's
    ],
)
def test_a_writer_that_fails_is_told_by_its_exception_alone(
    error: Exception, said: list[str]
) -> None:
    pool = TextPool(failing(lambda _: True))
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    candidates = [Candidate(Unwritten(error), ReproAssertion("crash"))] * 2
    assert ask.find_first(candidates) is None and not ask.holds(candidates[0])
    assert list(ask.unwritten) == said and not pool.asked


@pytest.mark.parametrize(
    ("backward", "operator", "asked"),
    [("forward", "cholesky_inverse", 0), ("sum", "cholesky_inverse", 1), ("forward", "sin", 1)],
)
def test_a_derivative_that_is_none_is_not_asked_about(
    backward: str, operator: str, asked: int
) -> None:
    pool = TextPool(failing(lambda _: True))
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    graph = Graph((tensor("x"),), (call("y", f"torch.{operator}", Ref("x")),), (Ref("y"),))
    made = Candidate(graph, ReproAssertion("wrong_gradient", backward=backward, compiler="eager"))
    assert (ask.find_first([made]) is not None) == bool(asked)
    assert len(pool.asked) == asked

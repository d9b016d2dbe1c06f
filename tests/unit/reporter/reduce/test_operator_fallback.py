"""A piece that is wrong alone, told from what makes the whole wrong by leaving it to eager."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future
from typing import Any

import pytest

from anonymizer.graph.ir import Graph, Input, Node, Recipe, Ref
from anonymizer.graph.repro import ReproAssertion
from reporter.core.answer import Answer
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.operator_fallback import find_unreached
from reporter.reduce.scheduler import Scheduler
from tests.support.graphs import META


class Pool:
    """Fails while an operator that is wrong and reaches the output is not left to eager."""

    jobs = 1

    def __init__(self, wrong: Collection[str], known: Collection[str]) -> None:
        self.wrong, self.known = wrong, known

    def submit(
        self, text: str, timeout: float | None = None, overrides: Any = None
    ) -> Future[Answer]:
        names = (overrides or {}).get("fallback", ())
        eager = {name.split(".")[1] for name in names}
        future: Future[Answer] = Future()
        if not set(names) <= set(self.known):
            future.set_result(Answer("cannot_judge"))
        else:
            # where both are there, what log1p gives is not used
            present = [name for name in self.wrong if f"torch.{name}(" in text]
            bad = [name for name in present if name != "log1p" or present == ["log1p"]]
            future.set_result(Answer("fails" if set(bad) - eager else "passes"))
        return future


def candidate(*targets: str) -> Candidate:
    nodes = [
        Node(f"n{number}", "function", f"torch.{target}", (Ref("x0"),), (), META)
        for number, target in enumerate(targets)
    ]
    outputs = tuple(Ref(node.name) for node in nodes)
    graph = Graph((Input("x0", "input", META, Recipe("randn")),), tuple(nodes), outputs)
    return Candidate(graph, ReproAssertion("wrong_result"))


@pytest.mark.parametrize(
    ("wrong", "known", "expected"),
    [
        (("log1p", "relu"), ("aten.log1p.default",), ("aten.log1p.default",)),
        (("log1p", "relu"), ("aten.log1p.Tensor",), ("aten.log1p.Tensor",)),
        # the whole is right without it: it is the fault
        (("log1p",), ("aten.log1p.default",), ()),
        # nothing is known where eager cannot take over
        (("log1p", "relu"), (), ()),
    ],
)
def test_a_fault_that_does_not_reach_the_outputs_is_another_one(
    wrong: tuple[str, ...], known: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    scheduler = Scheduler(Pool(wrong, known), lambda answer: answer.outcome == "fails")
    ask = Questions(scheduler, lambda _: None)
    ask.set_overrides({"fresh": True})
    assert find_unreached(ask, candidate("log1p"), candidate("log1p", "relu")) == expected
    assert ask.overrides == {"fresh": True}


def test_an_operator_in_place_is_left_to_eager_by_its_name_in_aten() -> None:
    asked: list[str] = []

    class Asked(Pool):
        def submit(
            self, text: str, timeout: float | None = None, overrides: Any = None
        ) -> Future[Answer]:
            asked.extend((overrides or {}).get("fallback", ()))
            return super().submit(text, timeout, overrides)

    node = Node("n0", "function", "operator.iadd", (Ref("x0"), 1), (), META)
    graph = Graph((Input("x0", "input", META, Recipe("randn")),), (node,), (Ref("n0"),))
    piece = Candidate(graph, ReproAssertion("wrong_result"))
    scheduler = Scheduler(Asked((), ()), lambda answer: answer.outcome == "fails")
    find_unreached(Questions(scheduler, lambda _: None), piece, piece)
    assert set(asked) == {"aten.add.default", "aten.add.Tensor"}

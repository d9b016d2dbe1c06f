"""The search among the pieces of a graph, on the host alone: the failure is a predicate over
texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from anonymizer.graph.ir import Graph, Ref
from anonymizer.graph.repro import ReproAssertion
from reporter.core.answer import Answer
from reporter.core.candidate import Candidate
from reporter.core.kinds import CandidateOutcome
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.piece_search import PieceSearch, find_named_operators
from reporter.reduce.scheduler import Scheduler
from tests.support.graphs import TextPool, build_blocks, tensor


def search(
    graph: Graph, outcome: Callable[[str], str], failure: dict[str, Any] | None = None
) -> tuple[Candidate | None, list[str]]:
    """What the search finds, and every text it asked about; `outcome` says how a text ends."""
    pool = TextPool(outcome)
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    found = PieceSearch(ask, lambda piece: Candidate(piece, ReproAssertion("crash"))).find(
        graph, failure
    )
    return found, pool.asked


def test_a_deeper_model_costs_no_more_questions() -> None:
    def outcome(text: str) -> str:
        return "fails" if "torch.sinh" in text else "passes"

    counts = {}
    for blocks in (4, 40, 330):
        found, asked = search(build_blocks(blocks, "torch.sinh", blocks * 2 // 3), outcome)
        assert found is not None and isinstance(found.content, Graph)
        assert found.content.statements == 1
        counts[blocks] = len(asked), max(len(text) for text in asked)
    assert counts[330] == counts[40] == counts[4]


def test_what_the_failure_names_is_asked_first() -> None:
    failure = {"message": "LoweringException: target: aten.sinh.default", "frames": []}
    found, asked = search(
        build_blocks(50, "torch.sinh", 20),
        lambda text: "fails" if "sinh" in text else "passes",
        failure,
    )
    assert found is not None and len(asked) == 1


def _compare(text: str) -> Answer:
    """What the harness says of a text: `sinh` is wrong, and a batch says which output that is."""
    named = re.search(r"(\w+) = torch\.sinh", text)
    returned = re.search(r"return \((.*?)\)", text)
    assert returned is not None
    outputs = [part.strip() for part in returned[1].split(",") if part.strip()]
    if "torch.sinh" not in text:
        return Answer(CandidateOutcome.PASSES)
    message = "wrong result: max abs error 1 against eager"
    if "enumerate(zip(expected" in text:
        assert named is not None
        message += f" in output {outputs.index(named[1])}"
    failure: Any = {"exception": "AssertionError", "message": message, "frames": []}
    return Answer(CandidateOutcome.FAILS, failure=failure)


class _ComparingPool(TextPool):
    """A pool whose answers are those of `_compare`."""

    def __init__(self) -> None:
        super().__init__(lambda text: "passes")

    def submit(
        self, text: str, timeout: float | None = None, overrides: Any = None
    ) -> Future[Answer]:
        super().submit(text, timeout, overrides)
        future: Future[Answer] = Future()
        future.set_result(_compare(text))
        return future


def test_the_piece_whose_output_is_wrong_is_asked_next() -> None:
    pool = _ComparingPool()
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    assertion = ReproAssertion("wrong_result", double=False)
    found = PieceSearch(ask, lambda piece: Candidate(piece, assertion)).find(
        build_blocks(50, "torch.sinh", 20), None
    )
    assert found is not None and "torch.sinh" in found.render()
    assert "in output" not in found.render()  # what is reduced further is one piece, and plain
    batches = [text for text in pool.asked if "enumerate(zip(expected" in text]
    failing = next(at for at, text in enumerate(pool.asked) if "torch.sinh" in text)
    assert batches and pool.asked[failing + 1] == found.render()


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (None, set()),
        ({"message": "target: aten.take.default", "frames": []}, {"take"}),
        ({"message": "", "first_line": "torch.ops.aten._foo_", "frames": []}, {"foo"}),
        (
            {
                "message": "no",
                "frames": [{"file": "torch/_inductor/lowering.py", "function": "index_put_"}],
            },
            {"index_put"},
        ),
        ({"message": "no", "frames": [{"file": "torch/fx/graph.py", "function": "run"}]}, set()),
        ({"message": "no", "kernels": ["cpp_fused_add_layer_norm_2"]}, {"add", "layer_norm"}),
    ],
)
def test_the_operators_that_a_failure_names_are_read_from_its_words(
    failure: dict[str, Any] | None, words: set[str]
) -> None:
    assert words <= find_named_operators(failure)
    assert bool(words) == bool(find_named_operators(failure) - {"ops"})


def test_two_operations_that_fail_together_are_found_as_one_piece() -> None:
    nodes = build_blocks(30, "torch.sinh", 10).nodes
    texts_with_both = "torch.sinh", "torch.exp"
    graph = Graph((tensor("x0"),), nodes, (Ref(nodes[-1].name),))

    def outcome(text: str) -> str:
        # sinh of what exp has just computed, in one expression chain of the same program
        lines = [line.strip() for line in text.splitlines()]
        exps = {line.split(" = ")[0] for line in lines if "torch.exp(" in line and " = " in line}
        return "fails" if any(f"torch.sinh({name})" in text for name in exps) else "passes"

    found, _ = search(graph, outcome)
    assert found is not None and isinstance(found.content, Graph)
    assert found.content.statements == 2
    assert all(word in found.render() for word in texts_with_both)


def test_a_piece_that_eager_refuses_does_not_hide_the_others() -> None:
    def outcome(text: str) -> str:
        if "torch.abs" in text:
            return "cannot_judge"
        return "fails" if "torch.sinh" in text else "passes"

    found, _ = search(build_blocks(8, "torch.sinh", 3), outcome)
    assert (
        found is not None and "torch.sinh" in found.render() and "torch.abs" not in found.render()
    )


def test_nothing_is_found_where_nothing_small_fails() -> None:
    found, asked = search(build_blocks(100, "torch.sinh", 50), lambda text: "passes")
    assert found is None
    assert len(asked) < 24


def test_small_pieces_of_a_whole_that_does_not_crash_are_not_asked() -> None:
    graph = build_blocks(3, "torch.sinh", 1)
    asked: dict[str, list[str]] = {}
    for kind in ("crash", "wrong_result"):
        pool = TextPool(lambda text: "passes")
        ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
        assertion = ReproAssertion(kind)
        found = PieceSearch(
            ask, lambda piece, assertion=assertion: Candidate(piece, assertion)
        ).find(graph, None)
        assert found is None
        asked[kind] = pool.asked
    whole = Candidate(graph, ReproAssertion("crash")).render()
    assert asked["crash"][-1] == whole and len(asked["crash"]) < len(asked["wrong_result"])


def test_a_program_that_may_crash_in_another_way_alone_is_asked_as_a_whole_first() -> None:
    graph = build_blocks(3, "torch.sinh", 1)
    whole = Candidate(graph, ReproAssertion("crash"))
    other = Candidate(graph, ReproAssertion("crash", arguments=(("dynamic", "True"),)))
    pool = TextPool(lambda text: "passes")
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    search = PieceSearch(ask, lambda piece: Candidate(piece, ReproAssertion("crash")), [other])
    assert search.find(graph, None) is None
    assert pool.asked[0] == whole.render() and set(pool.asked) <= {whole.render(), other.render()}

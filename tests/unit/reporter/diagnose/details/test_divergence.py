"""The search for the first operation that differs, over graphs whose faults are known and call
sessions that answer by rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reporter.core.json_values import Json
from reporter.diagnose.details.divergence import (
    DivergenceBudget,
    PrefixSettings,
    describe,
    drop_nonfinite_numbers,
    find_divergence,
)
from reporter.recording.questions import CallQuestion
from reporter.report.sections.details import DivergencePoint, DivergenceSection

OK: Json = {"outcome": "ok"}


@dataclass
class GraphLab:
    """A graph in which each operation reads some before it; what is computed from a faulty one
    differs.

    A fork that comes to an operation in `deadly` ends there.
    """

    folder: Path
    reads: list[list[int]]
    faulty: set[int]
    deadly: set[int] = field(default_factory=set)
    measured: list[int | None] = field(default_factory=list)

    def request(self, question: CallQuestion[Any], timeout: float) -> Any:
        return self.submit(question, timeout).result()

    def submit(self, question: CallQuestion[Any], timeout: float) -> Future[Any]:
        answer: Future[Any] = Future()
        message: Mapping[str, Any] = question.message
        answer.set_result(self._nodes() if message["ask"] == "nodes" else self._forked(message))
        return answer

    def close(self) -> None:
        """There is no process behind it."""

    def _nodes(self) -> Json:
        free = {"measurable": True, "differentiable": True, "writes": False, "dtype": None}
        nodes = [
            {**free, "operator": f"torch.op{i}", "inputs": reads}
            for i, reads in enumerate(self.reads)
        ]
        return {**OK, "graphs": [{"graph": 0, "nodes": nodes, "outputs": [len(nodes) - 1]}]}

    def _forked(self, message: Mapping[str, Any]) -> Json:
        with Path(message["results"]).open("a") as lines:
            for position in message["positions"]:
                self.measured.append(position)
                lines.write(json.dumps({"position": position, "begun": True}) + "\n")
                if position in self.deadly:
                    return {"outcome": "died"}
                last = len(self.reads) - 1 if position is None else position
                same = not self._differs(last)
                lines.write(json.dumps({"position": position, "same": same}) + "\n")
        return OK

    def _differs(self, position: int) -> bool:
        return position in self.faulty or any(map(self._differs, self.reads[position]))


def chain(length: int) -> list[list[int]]:
    """Operations each of which reads the one before it."""
    return [[i - 1] if i else [] for i in range(length)]


def profiled(
    call_session: GraphLab,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = lambda: 0.0,
) -> DivergenceSection:
    found = find_divergence(
        call_session, PrefixSettings(), DivergenceBudget(10, timeout=1, jobs=3), say, clock
    )
    assert found is not None
    return found


@pytest.mark.parametrize("faulty", range(40))
def test_any_operation_of_a_chain_can_be_the_first_that_differs(
    faulty: int, tmp_path: Path
) -> None:
    call_session = GraphLab(tmp_path, chain(40), {faulty})
    found = profiled(call_session)
    assert (found.first, found.operator, found.complete) == (faulty, f"torch.op{faulty}", True)
    assert len(call_session.measured) == len(set(call_session.measured)) < 40


def test_a_branch_that_agrees_clears_no_other_branch(tmp_path: Path) -> None:
    """Operations 1 and 3 … 21 are two branches from operation 0, joined by the last."""
    reads = [[], [0], [1], [0], *([i] for i in range(3, 21)), [2, 21]]
    found = profiled(GraphLab(tmp_path, reads, {1}))
    assert (found.first, found.complete) == (1, True)


def test_where_everything_agrees_the_whole_graph_is_measured_too(tmp_path: Path) -> None:
    call_session = GraphLab(tmp_path, chain(40), set())
    found = profiled(call_session)
    assert (found.first, found.whole, found.complete) == (None, False, True)
    assert None in call_session.measured and "agree" in describe(found)


def test_what_ends_a_fork_is_counted_and_not_asked_again(tmp_path: Path) -> None:
    call_session = GraphLab(tmp_path, chain(8), {6}, deadly={1, 4})
    found = profiled(call_session)
    assert (found.first, found.failed) == (6, 2)
    assert sorted(call_session.measured) == list(
        range(8)
    )  # what was still to do in those forks as well


def test_where_what_comes_before_cannot_be_measured_the_profile_is_not_complete(
    tmp_path: Path,
) -> None:
    # of what agrees, none is computed from the operations that cannot be measured
    found = profiled(GraphLab(tmp_path, chain(8), {6}, deadly={3, 4, 5}))
    assert found.first == 6 and not found.complete
    assert "not everything before it could be measured" in describe(found)


def test_when_the_time_is_up_nothing_more_is_measured(tmp_path: Path) -> None:
    now = [0.0]

    def pass_time(_: str) -> None:
        now[0] += 4  # of 10, for each of the 3 forks of a round

    call_session = GraphLab(tmp_path, chain(100), {40})
    found = profiled(call_session, pass_time, lambda: now[0])
    assert now[0] == 12 and len(call_session.measured) == len(found.points)
    assert found.first is not None and found.first > 40 and not found.complete


def test_a_number_without_a_value_becomes_null() -> None:
    point = DivergencePoint(
        position=3,
        operator="torch.exp",
        max_abs_error=float("inf"),
        error_vs_fp64=float("nan"),
        same=False,
    )
    found = DivergenceSection(points=(point,), first=3, of=9, operator="torch.exp", complete=True)
    document = drop_nonfinite_numbers(found).to_json()
    assert document["points"][0]["max_abs_error"] is None
    assert document["points"][0]["error_vs_fp64"] is None
    assert document["first"] == 3

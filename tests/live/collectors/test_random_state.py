"""Runs that are held against each other draw the same random numbers, whoever makes them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from collectors.call import context, rungs
from collectors.dynamo import graph_breaks, guards
from collectors.dynamo.divergence import PositionReachedError, PrefixRun
from collectors.machine.random_state import RandomState
from tests.support.round_trips import in_a_fork


def draw() -> list[float]:
    return [random.random(), float(numpy.random.rand()), float(torch.rand(()))]


class Drawing(torch.nn.Module):
    """An operator of the program's own, which no compiler looks into."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (x + torch.tensor(draw()),)


def test_a_state_is_put_back_and_what_has_moved_is_named() -> None:
    state = RandomState.read()
    assert state.find_moved() == []
    first = draw()
    assert state.find_moved() == ["torch", "random", "numpy"]
    state.restore()
    assert state.find_moved() == [] and draw() == first
    state.restore()
    random.random()
    assert state.find_moved() == ["random"]


def test_both_runs_of_a_prefix_draw_the_same_numbers() -> None:
    drawing = Drawing()
    prefix = PrefixRun(PositionReachedError((torch.zeros(3),)), drawing, False)
    assert prefix.compare(drawing, False)["equal"]


def call_again(notes: list[list[float]]) -> rungs.RecordedCall:
    """A call that notes what it draws, after two others; Python's generator is at another state
    than at the call, as in every fork.
    """

    @torch._dynamo.disable
    def note() -> None:
        notes.append(draw())

    def program(x: torch.Tensor) -> torch.Tensor:
        note()
        return x + 1

    conditions = rungs.CallConditions({"backend": "eager"}, context.read_state())
    x = torch.ones(3)
    before = rungs.EarlierCalls([((x,), {}), ((x,), {})])
    return rungs.RecordedCall(program, None, (x,), {}, conditions, before)


def replay(collect: Any) -> tuple[list[float], list[list[float]]]:
    """What the recorded call draws by itself, and what all calls draw where `collect` replays
    them.
    """
    notes: list[list[float]] = []
    call, state = call_again(notes), RandomState.read()
    expected = draw()
    state.restore()
    random.seed()
    collect(call)
    return expected, notes


@pytest.mark.parametrize("collect", [graph_breaks.collect, guards.find])
def test_replayed_calls_leave_the_recorded_one_its_random_numbers(
    collect: Any, tmp_path: Path
) -> None:
    request = {"snapshot": str(tmp_path / "after.pt")}
    expected, notes = in_a_fork(lambda: replay(lambda call: collect(call, request)))
    assert len(notes) == 3 and notes[-1] == expected

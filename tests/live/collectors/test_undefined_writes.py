"""Which operators lose a value that they write, and what the opposite order leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from collectors.call import probe, undefined_writes
from reporter.core.candidate import find_failure
from reporter.core.signature import is_same_failure
from reporter.execution.fresh_process import run_cold
from tests.support import interpreter
from tests.support.scripts import text

Y = torch.zeros(3, 4)


TWICE = torch.tensor([1, 0, 1])


ONCE = torch.tensor([1, 0, 2])


ROWS = torch.arange(12.0).reshape(3, 4)


PROGRAMS = {
    "assignment": (lambda y, i: y.__setitem__(i, ROWS), True),
    "assignment of one value": (lambda y, i: y.__setitem__(i, 7.0), False),
    "assignment to columns": (lambda y, i: y.__setitem__((slice(None), i), ROWS[:, :3]), True),
    "assignment with a gap": (
        lambda y, i: y[None].__setitem__((0, slice(None), i), ROWS[:, :3].T), True
    ),
    "accumulation": (lambda y, i: y.index_put_((i,), ROWS, accumulate=True), False),
    "index_put": (lambda y, i: y.copy_(y.index_put((i,), ROWS)), True),
    "index_copy": (lambda y, i: y.index_copy_(0, i, ROWS), True),
    "index_add": (lambda y, i: y.index_add_(0, i, ROWS), False),
    "scatter": (lambda y, i: y.scatter_(0, i[:, None].expand(3, 4), ROWS), True),
    "scatter of one value": (lambda y, i: y.scatter_(0, i[:, None].expand(3, 4), 7.0), False),
    "scatter_add": (lambda y, i: y.scatter_add_(0, i[:, None].expand(3, 4), ROWS), False),
    "scatter_reduce": (
        lambda y, i: y.scatter_reduce_(0, i[:, None].expand(3, 4), ROWS, "amax"), False
    ),
    "put": (lambda y, i: y.put_(i, torch.arange(3.0)), True),
    "mask": (lambda y, i: y.__setitem__(y == 0, torch.arange(12.0)), False),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_lost_is_seen_and_moves_with_the_order(name: str) -> None:
    program, loses = PROGRAMS[name]
    assert probe.find_undefined(lambda _: program(Y.clone(), ONCE)) == []
    assert probe.find_undefined(lambda _: program(Y.clone(), TWICE)) == (
        ["writes"] if loses else []
    )
    plain, reordered, once = Y.clone(), Y.clone(), Y.clone()
    program(plain, TWICE)
    with undefined_writes.ReorderWritesMode():
        program(reordered, TWICE)
        program(once, ONCE)
    assert torch.equal(plain, reordered) != loses
    same = Y.clone()
    program(same, ONCE)
    assert torch.equal(same, once)


def test_a_candidate_that_only_fails_by_a_lost_write_is_another_failure() -> None:
    shown = [
        find_failure(run_cold(interpreter.WARM, text(f"lost_writes/{name}"), 120, describe=True))
        for name in ("one_row_twice", "each_row_once")
    ]
    assert [found.undefined for found in shown if found] == [("writes",), ()]
    twice, once = (replace(found, layer="inductor") for found in shown if found)
    assert is_same_failure(twice, once) and not is_same_failure(once, twice)


@torch.library.custom_op("program_of_the_test::scale", mutates_args=())
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    x.mul_(by)
    return x.sum(-1)


@torch.library.custom_op("program_of_the_test::honest", mutates_args=("x",))
def honest(x: torch.Tensor, by: float) -> torch.Tensor:
    x.mul_(by)
    return x.sum(-1)


@pytest.mark.parametrize(("operator", "undeclared"), [(scale, ["scale"]), (honest, [])])
def test_a_write_that_the_schema_does_not_name_is_seen_and_can_be_left_out(
    operator: Callable[..., torch.Tensor], undeclared: list[str]
) -> None:
    def program(y: torch.Tensor) -> torch.Tensor:
        return operator(y, by=2.0) + y.sum(-1)

    watch = probe.EagerFactsMode()
    with watch:
        written = program(torch.ones(2, 3))
    assert watch.undeclared_writes == undeclared
    with undefined_writes.DropUndeclaredWritesMode():
        kept = program(torch.ones(2, 3))
    assert written.tolist() == [12.0, 12.0]
    assert kept.tolist() == ([9.0, 9.0] if undeclared else [12.0, 12.0])


@pytest.mark.parametrize(("function", "met"), [(torch.sin, []), (F.dropout, ["draws"])])
def test_what_a_call_draws_is_told_apart_from_its_inputs(function: Any, met: list[str]) -> None:
    assert probe.find_undefined(lambda compile: compile(function)(torch.rand(3))) == met

"""A number of the program leaves only if the failure is not there with a generic one."""

from __future__ import annotations

import re
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from reporter.core.answer import Answer
from reporter.execution.worker_pool import WorkerPool
from reporter.verify.numbers import (
    collect_numbers,
    list_generic_numbers,
    list_needed_numbers,
    substitute_generic_numbers,
)

BODY = ReproBody(
    "def repro(x):\n    return torch.minimum(x, torch.full((2, 211), 211)) * 0.0173\n",
    "repro",
    ("x = torch.ones(2, 211)", "return (x,)"),
    FUNCTION_CALL,
)
ASSERTION = ReproAssertion(kind="crash")


class Workers:
    """Answers at once: a program fails if its numbers do."""

    def __init__(self, fails: str) -> None:
        self.fails, self.asked = re.compile(fails), 0

    def submit(self, text: str) -> Future[Answer]:
        self.asked += 1
        done: Future[Answer] = Future()
        done.set_result(Answer("fails" if self.fails.search(text) else "passes"))
        return done


def searched(fails: str, private: set[float]) -> tuple[ReproBody, frozenset[float], int]:
    workers = Workers(fails)
    found = substitute_generic_numbers(
        (BODY, ASSERTION),
        frozenset(private),
        cast(WorkerPool, workers),
        lambda a: a.outcome == "fails",
    )
    (body, _), needed = found
    return body, needed, workers.asked


def test_a_number_goes_everywhere_at_once_where_a_generic_one_does() -> None:
    body, needed, _ = searched(r"full\(\(2, 128\), 128\)|full\(\(2, 256\), 256\)", {211.0})
    assert "211" not in body.definitions and "211" not in "".join(body.inputs)
    assert not needed
    assert "torch.full((2, 128), 128)" in body.definitions and "ones(2, 128)" in body.inputs[0]


def test_a_number_that_the_failure_needs_stays_and_is_listed() -> None:
    body, needed, asked = searched("211", {211.0, 0.0173})
    assert "211" in body.definitions and "0.0173" not in body.definitions and asked > 3
    assert needed == {211.0} and list_needed_numbers(body.definitions, needed) == (211,)


def test_numbers_that_are_everybodys_are_not_asked_for() -> None:
    assert searched("x", {977.0}) == (BODY, frozenset(), 0)


@pytest.mark.parametrize(
    "value, wanted", [(211.0, {128, 255, 256, 200}), (1289.0, {1024, 2048, 1000})]
)
def test_generic_numbers_are_near_and_everybodys(value: float, wanted: set[int]) -> None:
    found: Any = list_generic_numbers(value)
    assert wanted <= set(found) and value not in found


def test_numbers_are_read_from_program_and_inputs() -> None:
    assert {211.0, 0.0173, 2.0} <= collect_numbers(BODY)
    assert 31.5 in collect_numbers(replace(BODY, definitions="def f(x):\n    return x * 31.5j\n"))


def test_a_number_at_the_ends_of_what_a_float_holds_has_no_generic_one() -> None:
    assert list_generic_numbers(1.7976931348623157e308) == list_generic_numbers(5e-324) == []
    assert all(float(other) for other in list_generic_numbers(9.5e307))

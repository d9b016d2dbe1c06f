"""Failures that come before the C++ compiler are shown without one: what a worker does then, warmed
up by Inductor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from anonymizer.graph.repro import ReproAssertion
from reporter.core.answer import Answer
from reporter.execution.compiler_cache import prepare_warm_folder
from reporter.execution.worker_pool import WorkerPool, WorkerSettings
from reporter.reduce import early_end
from tests.support import interpreter
from tests.support.scripts import text


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    folder = tmp_path_factory.mktemp("early")
    warm_cache = prepare_warm_folder(interpreter.WARM, folder)  # as the command does
    with WorkerPool(
        interpreter.WARM, 2, dict(os.environ), folder, WorkerSettings(warm_cache=warm_cache)
    ) as made:
        yield made


def asked(pool: WorkerPool, name: str, **overrides: Any) -> Answer:
    """The answer to a program, within a time that it would need only on the busiest machine."""
    return pool.submit(text(name), timeout=600, overrides=overrides).result()


def test_a_candidate_that_reaches_the_compiler_has_passed(pool: WorkerPool) -> None:
    whole = asked(pool, "early_end/inductor")
    assert whole.outcome == "fails" and "after the compiler" in str(whole.failure)
    # none of the other's kernels lies in a cache
    ended = asked(pool, "early_end/other_kernel", **early_end.ENDS_AT_COMPILER)
    assert ended.outcome == "passes" and ended.failure is None


def test_a_failure_before_the_compiler_is_the_same_with_and_without(pool: WorkerPool) -> None:
    name = "early_end/no_lowering"
    whole, ended = asked(pool, name), asked(pool, name, **early_end.ENDS_AT_COMPILER)
    assert whole.outcome == ended.outcome == "fails"
    assert whole.failure is not None and ended.failure is not None
    assert "no lowering today" in whole.failure["message"]
    assert whole.failure["message"] == ended.failure["message"]
    assert early_end.comes_early(whole.failure, ReproAssertion("crash"))


def test_what_needs_no_compiler_goes_all_the_way(pool: WorkerPool) -> None:
    answer = asked(pool, "early_end/eager", **early_end.ENDS_AT_COMPILER)
    assert answer.outcome == "fails" and "after the compiler" in str(answer.failure)


def test_a_change_of_the_decompositions_reaches_inductor(pool: WorkerPool) -> None:
    by_itself = asked(pool, "culprit/faulty_decomposition")
    assert by_itself.outcome == "fails" and "wrong result" in str(by_itself.failure)
    name = "culprit/hardswish_is_decomposed"
    assert asked(pool, name).outcome == "passes"
    left_out = asked(pool, name, undecomposed=["aten.hardswish.default"])
    assert left_out.outcome == "fails" and "left whole" in str(left_out.failure)

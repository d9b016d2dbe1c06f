"""What fails next to a repro, asked of real workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from anonymizer.plain.script.forms import PlainForm
from reporter.core.candidate import make_matcher
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.execution.worker_pool import WorkerPool
from reporter.verify.neighbours import find_neighbours
from reporter.verify.plain import PlainRepro
from tests.support import interpreter

#: Wrong for whole numbers from a size of 4 on, and only where the program asks for a minimum.
BACKEND = """def custom_backend(gm, example_inputs):
    wrong = "min" in gm.code and example_inputs[0].numel() > 3
    whole = not example_inputs[0].is_floating_point()
    return lambda *args: [gm(*args)[0] + (1 if wrong and whole else 0)]"""
ASSERTION = ReproAssertion(
    "wrong_result", (("backend", "custom_backend"), ("dynamic", "False")), prelude=BACKEND
)
BODY = ReproBody(
    "def repro(x):\n    return torch.min(x, 0).values",
    "repro",
    ("return (torch.ones(4, dtype=torch.int16),)",),
    FUNCTION_CALL,
)
REPRO = PlainRepro("", "", (BODY, ASSERTION), form=PlainForm.EXACT)
#: Off by one from a size of 4 on, and by little below.
SLIGHT = """def custom_backend(gm, example_inputs):
    off = 1 if example_inputs[0].numel() > 3 else 5e-5
    return lambda *args: [out + off for out in gm(*args)]"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    folder = tmp_path_factory.mktemp("workers")
    with WorkerPool(Path(interpreter.WARM), 2, dict(os.environ), folder) as made:
        yield made


def test_each_row_is_what_the_program_does(pool: WorkerPool) -> None:
    shows = make_matcher(Signature(Kind.WRONG_RESULT))
    rows = list(find_neighbours(pool, shows, REPRO, 300.0))
    said = {(row.what, row.to): row.fails for row in rows}
    assert said["dtype", "int16"] and said["dtype", "int64"] and not said["dtype", "float32"]
    assert said["operator", "min"] and not said["operator", "max"]
    assert [said["size 4", size] for size in ("4", "5", "8", "3", "2")] == [True] * 3 + [False] * 2
    assert list(said).index(("dtype", "int16")) < list(said).index(("dtype", "uint8"))


def test_a_smaller_size_does_not_pass_for_want_of_the_one_random_number_that_fails(
    pool: WorkerPool,
) -> None:
    body = replace(BODY, inputs=("return ((torch.rand(4) * 9).to(torch.int16),)",))
    rows = find_neighbours(
        pool,
        make_matcher(Signature(Kind.WRONG_RESULT)),
        PlainRepro("", "", (body, ASSERTION), form=PlainForm.EXACT),
        300.0,
    )
    said = {(row.what, row.to): row.fails for row in rows if row.what == "size 4"}
    assert said == {("size 4", size): True for size in ("4", "5", "8")}


def test_nothing_passes_that_the_filed_text_would_show(pool: WorkerPool) -> None:
    """What is too little for the harness is enough for a plain comparison."""
    body = replace(
        BODY, definitions="def repro(x):\n    return x * 2", inputs=("return (torch.ones(4),)",)
    )
    repro = PlainRepro("", "", (body, replace(ASSERTION, prelude=SLIGHT)), form=PlainForm.EXACT)
    rows = find_neighbours(pool, make_matcher(Signature(Kind.WRONG_RESULT)), repro, 300.0)
    said = {(row.what, row.to): row.fails for row in rows}
    assert said["size 4", "4"] and said["size 4", "5"]
    assert ("size 4", "3") not in said and ("size 4", "2") not in said


def test_what_has_no_time_is_left_out(pool: WorkerPool) -> None:
    shows = make_matcher(Signature(Kind.WRONG_RESULT))
    assert list(find_neighbours(pool, shows, REPRO, 0.0)) == []

"""A block that is wrong alone convicts a program whose error hides in rounding noise; the captured
graph is data, and the workers' answers are a function of the text.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

import pytest
from msgspec import structs

from reporter.core.answer import Answer
from reporter.core.kinds import Kind, Layer
from reporter.core.progress import PlainProgress
from reporter.core.signature import Signature
from reporter.execution.worker_pool import WorkerPool
from reporter.reduce.blockwise import look_at_blocks
from reporter.report.captured_call import CapturedCall
from tests.support.places import DATA

WRONG = "wrong result: output 0: eager is off by 1e-07, compiled by 1e-2"
GRADIENT = "wrong gradient: x: eager is off by 1e-07, compiled by 1e-2"


class Pool:
    """Answers that a program is wrong where it has all of some words, under some backends."""

    jobs = 1

    def __init__(self, message: str, *words: str, backends: tuple[str, ...] = ("inductor",)):
        self.message, self.words, self.backends = message, words, backends
        self.asked: list[str] = []

    def submit(
        self, text: str, timeout: float | None = None, overrides: Any = None
    ) -> Future[Answer]:
        self.asked.append(text)
        own = "aot_eager" if "backend='aot_eager'" in text.replace('"', "'") else "inductor"
        backend = (overrides or {}).get("backend", own)
        answer = Answer("passes")
        if backend in self.backends and all(word in text for word in self.words):
            failure = {"exception": "AssertionError", "message": self.message}
            answer = Answer("fails", failure=failure, exit=1)
        future: Future[Answer] = Future()
        future.set_result(answer)
        return future


def excused(**assertion: Any) -> CapturedCall:
    """The recording of five layers, whose error is excused as rounding."""
    found = CapturedCall.load(DATA / "recordings" / "foobar.json")
    assert found.material.assertion is not None
    checked = replace(found.material.assertion, kind="wrong_result", **assertion)
    verdict = replace(
        found.verdict,
        kind=Kind.ROUNDING,
        layer=Layer.NONE,
        is_bug=False,
        summary="Rounding.",
        signature=None,
    )
    return replace(
        found, verdict=verdict, material=structs.replace(found.material, assertion=checked)
    )


def looked(captured: CapturedCall, pool: Pool) -> CapturedCall:
    return look_at_blocks(captured, cast(WorkerPool, pool), PlainProgress())


@pytest.mark.parametrize(
    ("backends", "layer"),
    [
        (("inductor",), "inductor"),
        (("inductor", "aot_eager_decomp_partition"), "decomposition"),
        (("inductor", "aot_eager", "aot_eager_decomp_partition"), "aot_autograd"),
        (("inductor", "aot_eager", "aot_eager_decomp_partition", "eager"), "dynamo"),
    ],
)
def test_a_block_that_is_wrong_alone_is_a_bug_of_the_first_layer_that_has_it(
    backends: tuple[str, ...], layer: str
) -> None:
    found = looked(excused(), Pool(WRONG, "linear", backends=backends))
    assert (found.verdict.kind, found.verdict.layer, found.is_bug) == ("wrong_result", layer, True)
    assert found.verdict.signature == Signature("wrong_result", layer)
    assert (
        "wrong values" in found.verdict.summary
        and "a block of 1 operation shows it" in found.verdict.summary
    )
    assert (
        found.material.assertion is not None
        and found.material.assertion.double
        and found.material.assertion.backward == "none"
    )


def test_gradients_are_looked_at_first_where_the_call_was_differentiated() -> None:
    found = looked(excused(backward="randn"), Pool(GRADIENT, "linear"))
    assert found.verdict.kind == "wrong_gradient" and "wrong gradients" in found.verdict.summary
    assert found.material.assertion is not None and found.material.assertion.backward == "randn"


def test_where_no_block_is_wrong_the_excuse_stands() -> None:
    before, pool = excused(), Pool(WRONG, "no such word")
    assert looked(before, pool) is before
    # a block of its own, and not the whole graph again and again
    assert any("_foobar" not in text for text in pool.asked)


def test_a_block_in_half_precision_counts_only_with_its_roundings_emulated() -> None:
    """Fused code skips roundings legitimately."""
    pool = Pool(WRONG, "no such word")
    looked(excused(prelude="torch.set_default_dtype(torch.bfloat16)"), pool)
    fused = [text for text in pool.asked if "aot_eager" not in text]
    assert fused and all("emulate_precision_casts" in text for text in fused)


def test_a_block_that_casts_by_itself_is_judged_without_fusion_alone() -> None:
    """Its run in float64 rounds as well, so skipped roundings would look wrong."""
    pool = Pool(WRONG, "no such word")
    looked(excused(contexts=('torch.autocast("cpu", dtype=torch.bfloat16)',)), pool)
    assert pool.asked and all("aot_eager" in text for text in pool.asked)


@pytest.mark.parametrize(
    "changes",
    [
        {"assertion": None},
        {"captures": (({"unsupported": "a stream"}, {"replay": False}),)},
        {"captures": (({"inputs": [{}]}, {"replay": False}),)},
    ],
)
def test_what_has_no_graph_is_not_looked_at(changes: dict[str, Any]) -> None:
    given, pool = excused(), Pool(WRONG, "linear")
    before = replace(given, material=structs.replace(given.material, **changes))
    assert looked(before, pool) is before and pool.asked == []

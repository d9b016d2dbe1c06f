"""A gradient that the compiled call does not give is a wrong one, whichever input it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from reporter.core.kinds import CandidateOutcome, Kind
from reporter.execution.fresh_process import run_cold
from tests.support import interpreter

#: Compiles nothing, and cuts one input off from the gradients.
BACKEND = """def custom_backend(gm, example_inputs):
    def run(*args):
        args = list(args)
        if CUT is not None:
            args[CUT] = args[CUT].detach()
        return gm(*args)
    return run"""
ONES = "torch.ones(3, requires_grad=True)"
BODY = ReproBody(
    "def repro(x, y):\n    return x.sin() + y.cos()",
    "repro",
    (f"return ({ONES}, {ONES})",),
    FUNCTION_CALL,
)


@pytest.mark.parametrize(
    ("cut", "outcome"),
    [(0, CandidateOutcome.FAILS), (1, CandidateOutcome.FAILS), (None, CandidateOutcome.PASSES)],
)
def test_each_missing_gradient_is_seen(cut: int | None, outcome: CandidateOutcome) -> None:
    assertion = ReproAssertion(
        Kind.WRONG_GRADIENT,
        arguments=(("backend", "custom_backend"),),
        backward="sum",
        prelude=BACKEND.replace("CUT", repr(cut)),
    )
    answer = run_cold(Path(interpreter.WARM), render_harness(BODY, assertion), 120, describe=True)
    assert answer.outcome == outcome
    if answer.failure is not None:
        assert answer.failure["message"].startswith("wrong gradient:")

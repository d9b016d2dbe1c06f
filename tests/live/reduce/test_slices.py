"""A batch of pieces in a real process says which output is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymizer.graph.ir import Graph, Ref
from anonymizer.graph.repro import ReproAssertion
from anonymizer.harness.main import find_named_output
from reporter.core.candidate import Candidate
from reporter.core.kinds import Kind
from reporter.execution.fresh_process import run_cold
from reporter.reduce.pieces import merge_pieces
from tests.support import interpreter
from tests.support.graphs import call, tensor

#: Spoils what the program returns second of three.
BACKEND = """def custom_backend(gm, example_inputs):
    def run(*args):
        first, second, third = gm(*args)
        return first, CHANGE, third
    return run"""


@pytest.mark.parametrize(
    ("assertion", "change"),
    [
        (ReproAssertion(Kind.WRONG_RESULT, double=True), "second + 1"),
        (ReproAssertion(Kind.WRONG_RESULT, double=False), "second + 1"),
        (ReproAssertion(Kind.WRONG_METADATA, property="dtype"), "second.double()"),
        (ReproAssertion(Kind.WRONG_METADATA, property="stride"), "second.t().contiguous().t()"),
    ],
)
def test_the_output_that_is_wrong_is_named(assertion: ReproAssertion, change: str) -> None:
    pieces = [
        Graph((tensor("x", shape=(3, 4)),), (call("n", f"torch.{name}", Ref("x")),), (Ref("n"),))
        for name in ("sin", "cos", "exp")
    ]
    candidate = Candidate(merge_pieces(pieces), assertion).with_assertion(
        arguments=(("backend", "custom_backend"),),
        prelude=BACKEND.replace("CHANGE", change),
        names_output=True,
    )
    answer = run_cold(Path(interpreter.WARM), candidate.render(), 120, describe=True)
    assert answer.failure is not None
    assert find_named_output(answer.failure["message"]) == 1

"""Repros of release 2.6.0 that 2.13.0 has mended, in the form that `create` writes them."""

from __future__ import annotations

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from reporter.core.formatting import format_program
from templates.regression import ReproducedFailure

#: kind -> the operator at fault, the program, and its inputs
MENDED = {
    "crash": (
        "torch.frexp",
        "def repro(x, y):\n    v0 = torch.frexp(x)\n    return y * v0[1]\n",
        "(torch.randn(4, 1), torch.randn(4, 1))",
    ),
    "wrong_result": (
        "F.pad",
        "def repro(x, y):\n"
        '    v0 = torch.nn.functional.pad(x, (1, 1, 1, 1, 1, 1), "reflect")\n'
        "    v2 = torch.chunk(v0.view(2, -1), 2)\n"
        "    return torch.nn.functional.pairwise_distance(y, v2[1])\n",
        "(torch.randn(3, 3, 2, 2), torch.randn(2, 1))",
    ),
}


def failure(kind: str, layer: str, *operators: str) -> ReproducedFailure:
    """What a regression test says of a failure."""
    return ReproducedFailure(kind, layer, "It fails.", operators)


def repro(kind: str) -> str:
    """A repro of `MENDED` in the harness of all repros."""
    _, program, inputs = MENDED[kind]
    body = ReproBody(program, "repro", (f"return {inputs}",), FUNCTION_CALL)
    return format_program(render_harness(body, ReproAssertion(kind)))

"""The verdict on a stranger's program in words of ours, drawn from its kind, its layer and its
numbers.

The run that reached the verdict shared a sandbox with the program, so no text of it is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reporter.core.kinds import Kind, Layer

SENTENCES: Mapping[Kind, str] = {
    Kind.CRASH: "Eager mode runs the call, and compiling it, or running what was compiled, raises.",
    Kind.CRASH_ON_RECOMPILE: (
        "The first call compiles and runs, and compiling again for another shape or value raises."
    ),
    Kind.WRONG_RESULT: "The compiled call returns other values than eager mode.",
    Kind.WRONG_GRADIENT: (
        "The forward pass agrees with eager mode, and the compiled backward pass returns other"
        " gradients."
    ),
    Kind.WRONG_METADATA: (
        "A property of a result, or what the call leaves in Python's state, is not eager mode's."
    ),
    Kind.STALE_GRAPH: (
        "A graph that was compiled for earlier inputs is used for others, for which it does not"
        " hold."
    ),
    Kind.ACCEPTS_INVALID: "Eager mode raises, and the compiled call returns.",
    Kind.PROCESS_DEATH: "Eager mode runs the call, and the compiled call ends the process.",
    Kind.HANG: "Eager mode ends, and the compiled call does not within the limit.",
    Kind.GRAPH_BREAK: (
        "Compiled calls do what eager mode does; the program is not compiled as one graph."
    ),
    Kind.RECOMPILES: (
        "Compiled calls do what eager mode does; the program is compiled again and again."
    ),
    Kind.UNSUPPORTED: "Torch says itself that it does not support this.",
    Kind.INVALID_PROGRAM: "The program fails without the compiler, too.",
    Kind.NONDETERMINISTIC: "Eager mode does not give the same result twice.",
    Kind.RNG: "With random numbers drawn as eager mode draws them, both agree.",
    Kind.PRECISION_CAST: "With emulate_precision_casts, which rounds as eager does, both agree.",
    Kind.ROUNDING: "The compiled result differs from eager's by no more than rounding explains.",
    Kind.ILL_CONDITIONED: (
        "Moving the inputs by one unit in the last place moves eager mode's own result as far."
    ),
    Kind.UNDEFINED_VALUE: "The result depends on what C++ or torch leave undefined.",
    Kind.UNINITIALIZED_MEMORY: "The program reads memory that it never wrote.",
    Kind.NOT_REPRODUCED: "Each compiled call that was compared does what eager mode does.",
    Kind.OUTSIDE: "What fails with the compiler alone runs in a process that was not looked at.",
}


@dataclass(frozen=True)
class Errors:
    """How far results are off: compiled from eager, and both from float64; None: not measured."""

    largest: float | None = None
    compiled: float | None = None
    eager: float | None = None


def describe(kind: Kind | None, layer: Layer, errors: Errors, calls: int) -> str:
    """One or two sentences; empty without a verdict.

    Args:
        kind: None: there is no verdict.
        layer: only tells a fault of eager's operator from one of the compiled call.
        errors: follow as numbers where they were measured.
        calls: calls of compiled functions that the program made.
    """
    if kind is None:
        return ""
    if kind == Kind.NOT_REPRODUCED and not calls:
        return "The program made no call of a compiled function."
    said = SENTENCES[kind]
    if layer == Layer.EAGER and kind != Kind.INVALID_PROGRAM:
        said = said.replace("the compiled call", "the operator")
    return f"{said}{_describe_numbers(errors)}"


def _describe_numbers(errors: Errors) -> str:
    parts = []
    if errors.largest:
        parts.append(f"the largest difference is {errors.largest:.4g}")
    if errors.compiled is not None and errors.eager is not None:
        parts.append(
            f"against float64 the compiled result is off by {errors.compiled:.4g}, eager mode's by"
            f" {errors.eager:.4g}"
        )
    text = "; ".join(parts)
    return f" {text[:1].upper()}{text[1:]}." if text else ""

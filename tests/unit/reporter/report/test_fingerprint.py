"""Same place of failure, same fingerprint; too little evidence, none."""

from __future__ import annotations

from typing import Any

import pytest

from reporter.core.kinds import Kind, Layer
from reporter.report.fingerprint import Fingerprint, compute_fingerprint


def failure(
    exception: str = "LoweringException", *frames: str, first_line: str = ""
) -> dict[str, Any]:
    """As `collectors.call.failure.describe` gives it; frames are outermost first, with line numbers
    that differ.
    """
    rows = [{"file": "/home/me/train.py", "function": "main", "line": 3, "torch": False}]
    for number, frame in enumerate(frames):
        file, _, function = frame.partition(":")
        rows.append({"file": file, "function": function, "line": number * 7, "torch": True})
    return {"exception": exception, "first_line": first_line, "frames": rows}


CALL, LOWER, WRAP, GRAPH = (
    "torch/_inductor/graph.py:call_function",
    "torch/_inductor/lowering.py:cat",
    "torch/_dynamo/eval_frame.py:_fn",
    "torch/fx/generated:forward",
)
CRASH = compute_fingerprint(
    Kind.CRASH, Layer.INDUCTOR, ["torch.cat"], failure("E", WRAP, CALL, LOWER)
)
WRONG = compute_fingerprint(Kind.WRONG_RESULT, Layer.INDUCTOR, ["torch.cat", "torch.any"])

SAME = [
    (
        CRASH,
        compute_fingerprint(
            Kind.CRASH_ON_RECOMPILE, Layer.INDUCTOR, ["torch.sum"], failure("E", CALL, LOWER)
        ),
    ),
    (
        CRASH,
        compute_fingerprint(
            Kind.CRASH,
            Layer.INDUCTOR,
            [],
            failure("E", WRAP, WRAP, CALL, LOWER, GRAPH, first_line="size 12"),
        ),
    ),
    (
        WRONG,
        compute_fingerprint(
            Kind.WRONG_RESULT, Layer.INDUCTOR, ["torch.any", "torch.cat", "torch.any"]
        ),
    ),
    (
        compute_fingerprint(
            Kind.CRASH,
            Layer.INDUCTOR,
            [],
            failure("CppCompileError", LOWER, first_line="error: no member 'x1' in 'v2'"),
        ),
        compute_fingerprint(
            Kind.CRASH,
            Layer.INDUCTOR,
            [],
            failure("CppCompileError", CALL, first_line="error: no member 'y' in 'w'"),
        ),
    ),
]
DIFFERENT = [
    (
        CRASH,
        compute_fingerprint(Kind.CRASH, Layer.DYNAMO, ["torch.cat"], failure("E", CALL, LOWER)),
    ),
    (
        CRASH,
        compute_fingerprint(Kind.CRASH, Layer.INDUCTOR, ["torch.cat"], failure("F", CALL, LOWER)),
    ),
    (
        CRASH,
        compute_fingerprint(Kind.CRASH, Layer.INDUCTOR, ["torch.cat"], failure("E", LOWER, CALL)),
    ),
    (WRONG, compute_fingerprint(Kind.WRONG_GRADIENT, Layer.INDUCTOR, ["torch.cat", "torch.any"])),
    (WRONG, compute_fingerprint(Kind.WRONG_RESULT, Layer.INDUCTOR, ["torch.cat"])),
    (
        compute_fingerprint(
            Kind.CRASH,
            Layer.INDUCTOR,
            [],
            failure("CppCompileError", LOWER, first_line="error: no member 'x'"),
        ),
        compute_fingerprint(
            Kind.CRASH,
            Layer.INDUCTOR,
            [],
            failure("CppCompileError", LOWER, first_line="error: cannot convert"),
        ),
    ),
    (
        compute_fingerprint(Kind.PROCESS_DEATH, Layer.INDUCTOR, ["torch.cat"], signal="SIGSEGV"),
        compute_fingerprint(Kind.PROCESS_DEATH, Layer.INDUCTOR, ["torch.cat"], signal="SIGFPE"),
    ),
]
EMPTY = [
    compute_fingerprint(Kind.CRASH, Layer.INDUCTOR, ["torch.cat"], None),
    compute_fingerprint(Kind.CRASH, Layer.INDUCTOR, ["torch.cat"], failure("E")),
    compute_fingerprint(Kind.CRASH, Layer.INDUCTOR, ["torch.cat"], failure("", CALL)),
    compute_fingerprint(Kind.CRASH, Layer.DYNAMO, ["torch.cat"], failure("E", WRAP)),
    compute_fingerprint(Kind.WRONG_RESULT, Layer.INDUCTOR, []),
    Fingerprint.from_json(None),
    Fingerprint.from_json({"value": "v0:0123456789abcdef", "parts": ["a"]}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_place_is_the_same_fingerprint(one: Fingerprint, other: Fingerprint) -> None:
    assert one and one.value == other.value and one.value.startswith("v1:")


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_place_is_another_fingerprint(one: Fingerprint, other: Fingerprint) -> None:
    assert one and other and one.value != other.value


@pytest.mark.parametrize("nothing", EMPTY)
def test_too_little_evidence_is_no_fingerprint(nothing: Fingerprint) -> None:
    assert not nothing and nothing.value == ""


def test_it_survives_report_json() -> None:
    assert Fingerprint.from_json(CRASH.to_section().to_json()) == CRASH

"""Same place of failure, same fingerprint; too little evidence, none."""

from __future__ import annotations

from typing import Any

import pytest

from reporter.core.fingerprint import Fingerprint, fingerprint


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


CALL, LOWER, WRAP = (
    "torch/_inductor/graph.py:call_function",
    "torch/_inductor/lowering.py:cat",
    "torch/_dynamo/eval_frame.py:_fn",
)
CRASH = fingerprint("crash", "inductor", ["torch.cat"], failure("E", WRAP, CALL, LOWER))
WRONG = fingerprint("wrong_result", "inductor", ["torch.cat", "torch.any"])

SAME = [
    (
        CRASH,
        fingerprint("crash_on_recompile", "inductor", ["torch.sum"], failure("E", CALL, LOWER)),
    ),
    (
        CRASH,
        fingerprint(
            "crash", "inductor", [], failure("E", WRAP, WRAP, CALL, LOWER, first_line="size 12")
        ),
    ),
    (WRONG, fingerprint("wrong_result", "inductor", ["torch.any", "torch.cat", "torch.any"])),
    (
        fingerprint(
            "crash",
            "inductor",
            [],
            failure("CppCompileError", LOWER, first_line="error: no member 'x1' in 'v2'"),
        ),
        fingerprint(
            "crash",
            "inductor",
            [],
            failure("CppCompileError", CALL, first_line="error: no member 'y' in 'w'"),
        ),
    ),
]
DIFFERENT = [
    (CRASH, fingerprint("crash", "dynamo", ["torch.cat"], failure("E", CALL, LOWER))),
    (CRASH, fingerprint("crash", "inductor", ["torch.cat"], failure("F", CALL, LOWER))),
    (CRASH, fingerprint("crash", "inductor", ["torch.cat"], failure("E", LOWER, CALL))),
    (WRONG, fingerprint("wrong_gradient", "inductor", ["torch.cat", "torch.any"])),
    (WRONG, fingerprint("wrong_result", "inductor", ["torch.cat"])),
    (
        fingerprint(
            "crash",
            "inductor",
            [],
            failure("CppCompileError", LOWER, first_line="error: no member 'x'"),
        ),
        fingerprint(
            "crash",
            "inductor",
            [],
            failure("CppCompileError", LOWER, first_line="error: cannot convert"),
        ),
    ),
    (
        fingerprint("process_death", "inductor", ["torch.cat"], signal="SIGSEGV"),
        fingerprint("process_death", "inductor", ["torch.cat"], signal="SIGFPE"),
    ),
]
EMPTY = [
    fingerprint("crash", "inductor", ["torch.cat"], None),
    fingerprint("crash", "inductor", ["torch.cat"], failure("E")),
    fingerprint("crash", "inductor", ["torch.cat"], failure("", CALL)),
    fingerprint("crash", "dynamo", ["torch.cat"], failure("E", WRAP)),
    fingerprint("wrong_result", "inductor", []),
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
    assert Fingerprint.from_json(CRASH.to_json()) == CRASH

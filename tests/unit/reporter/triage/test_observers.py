"""Where the recorder and plain runs of a stranger's program disagree, nothing is concluded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reporter.core.kinds import Kind, Layer
from reporter.core.program_account import ProgramAccount
from reporter.triage.attempt import Attempt, Attempts
from reporter.triage.decision import decide
from reporter.triage.reading.repro_selection import Refusal, Repro
from reporter.triage.reading.stated_failure import StatedFailure
from reporter.triage.reading.thread import Post, Thread
from reporter.triage.result import Triage
from reporter.triage.sandboxed_verdict import CommandMeasurements, CommandVerdict, read
from reporter.triage.sentences import Errors, describe
from reporter.triage.suggestions import render_comment

WRONG = StatedFailure("wrong")
FAILURE = "AssertionError: Tensor-likes are not close!"


def runs(*codes: int, failure: str = FAILURE) -> Attempts:
    """Plain runs with these exit codes."""
    attempts = []
    for code in codes:
        outcome = "passes" if code == 0 else "fails" if code > 0 else "dies"
        match = "same" if code else None
        said = failure if code > 0 else "SIGSEGV" if code else ""
        attempts.append(Attempt(outcome, match, said, "", 1.0, exit=code))  # type: ignore[arg-type]
    return Attempts("2.13.0", "3.11.7", tuple(attempts))


def judged(
    kind: Kind = Kind.NOT_REPRODUCED,
    layer: Layer = Layer.NONE,
    **account: object,
) -> CommandVerdict:
    given = {"exit": 1, "said": 1, "calls": 2, "compared": 2, **account}
    told = ProgramAccount(**given)  # type: ignore[arg-type]
    return CommandVerdict(kind, layer, CommandMeasurements(account=told))


ROUNDING = judged(Kind.ROUNDING)
CRASH = judged(Kind.CRASH, Layer.INDUCTOR)
INVALID = judged(Kind.INVALID_PROGRAM, Layer.EAGER)
CASES = [
    (runs(1), runs(0), ROUNDING, "no_bug", ""),
    (runs(1), runs(0), judged(Kind.ROUNDING, reached=("a socket",)), "cannot_judge", "a socket"),
    (runs(1), runs(0), judged(), "reproduces", "as stated"),
    (runs(1), runs(0), judged(exit=0, said=0), "cannot_judge", "exit code 0"),
    (runs(1), runs(0), judged(said=0), "cannot_judge", "told its recorder exit code 0"),
    (runs(1, 0), runs(0), judged(exit=0, said=0), "reproduces", "1 of 2 runs"),
    (runs(-11), runs(0), judged(exit=-11, said=-11), "reproduces", "as stated"),
    (runs(255), runs(0), judged(exit=255, said=-1), "reproduces", "as stated"),
    (runs(1), runs(0), judged(exit=None, said=None), "reproduces", "as stated"),
    (runs(1), runs(0), INVALID, "cannot_judge", "TORCHDYNAMO_DISABLE=1 it passes"),
    (runs(1), runs(1), INVALID, "no_bug", ""),
    (runs(1), runs(1), CRASH, "cannot_judge", "blames the compiler"),
    (runs(1), runs(1, failure="ValueError: x"), CRASH, "reproduces", "as stated"),
    (runs(1), runs(0), CRASH, "reproduces", "as stated"),
    (runs(1), runs(1), judged(Kind.CRASH, Layer.EAGER), "reproduces", "as stated"),
]


@pytest.mark.parametrize(("ran", "control", "verdict", "status", "words"), CASES)
def test_both_observers_are_heard(
    ran: Attempts, control: Attempts, verdict: CommandVerdict, status: str, words: str
) -> None:
    found, sentence = decide(WRONG, [ran], verdict, control)
    assert found == status, sentence
    assert words in sentence


def triaged(verdict: CommandVerdict | None, control: Attempts | None, **more: object) -> Triage:
    thread = Thread("o/r#1", "A title", (Post("kim", "text"),))
    repro = Repro("import torch\n", "kim", 0, "", (), ("torch",), (), "the author's")
    result = Triage(thread, "reproduces", "It fails.", WRONG, repro, None, (runs(1),), verdict)
    return replace(result, control=control, **more)  # type: ignore[arg-type]


def test_the_comment_says_which_of_two_measurements_compares_what() -> None:
    text = render_comment(triaged(judged(), runs(0)))
    assert "2 of 2 calls were compared, and none differs" in text
    assert "With `TORCHDYNAMO_DISABLE=1` it passes." in text
    assert "not_reproduced" not in text
    text = render_comment(triaged(judged(), runs(1)))
    assert "it fails in the same way, so without the compiler" in text
    assert "Measured verdict: **crash** in **inductor**" in render_comment(triaged(CRASH, runs(0)))


def test_a_comment_says_that_code_ran_only_if_some_did() -> None:
    assert "the code of the issue ran in a sandbox" in render_comment(triaged(CRASH, None))
    assert "ran without a sandbox" in render_comment(triaged(CRASH, None, contained=False))
    refusal = Refusal("no_code", "there is no code")
    text = render_comment(
        triaged(None, None, runs=(), repro=None, refusal=refusal, status="not_actionable")
    )
    assert "no code was run" in text and "sandbox" not in text


@pytest.mark.parametrize("kind", Kind)
def test_each_verdict_has_a_sentence_of_ours(kind: Kind) -> None:
    said = describe(kind, Layer.INDUCTOR, Errors(1.25, 0.5, 1e-6), 1)
    assert said.endswith(
        "The largest difference is 1.25; against float64 the compiled result is off by 0.5, eager"
        " mode's by 1e-06."
    )


def test_numbers_of_a_verdict_are_numbers() -> None:
    rows = [
        {"rung": "inductor", "outcome": "differs", "max_abs_error": 2, "error_vs_fp64": "huge"},
        {"rung": "eager", "outcome": "ok", "max_abs_error": float("inf")},
        {"rung": "compiled", "outcome": "differs", "max_abs_error": True},
    ]
    verdict = {"kind": "wrong_result", "layer": "inductor", "is_bug": True, "summary": "Close it."}
    account = {
        "exit": "1",
        "said": 10**9,
        "exception": "Close this. It is no bug",
        "calls": -1,
        "reached": ["a\x1b[31m", 5],
    }
    found = read({"document": {"verdict": verdict, "ladder": rows}, "account": account})
    assert found.measured.errors == Errors(2.0, None, None)
    assert found.measured.account == ProgramAccount(reached=("a", ""))
    assert "Close" not in found.summary

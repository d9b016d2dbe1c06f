"""What one run of a candidate did, as data."""

from __future__ import annotations

from reporter.core.answer import Answer
from reporter.core.candidate import make_matcher
from reporter.core.kinds import Kind, Layer
from reporter.core.signature import sign_crash


def test_an_answer_survives_json() -> None:
    answer = Answer("died", {"exception": "E"}, "SIGSEGV", -11, "o", "e", "d", 1.5)
    assert Answer.from_json(answer.to_json()) == answer


def test_a_program_whose_bug_is_the_memory_it_takes_is_recognized() -> None:
    failure = {
        "exception": "RuntimeError",
        "first_line": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes",
        "message": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes",
        "innermost_is_torch": True,
    }
    answer = Answer("fails", failure)
    assert answer.out_of_memory
    assert make_matcher(sign_crash(Kind.CRASH, Layer.INDUCTOR, failure))(answer)

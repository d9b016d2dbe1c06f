"""When two failures count as one: rows of messages that are the same bug, and rows that are not."""

from __future__ import annotations

import pytest

from reporter.signature import Signature, normalise, of_assertion, of_crash, same_failure


def crash(
    message: str, exception: str = "RuntimeError", frames: tuple[str, ...] = ("torch/a.py:f",)
) -> Signature:
    failure = {
        "exception": exception,
        "first_line": message,
        "frames": [
            {"file": name.split(":")[0], "function": name.split(":")[1], "torch": True}
            for name in reversed(frames)
        ],
        "innermost_is_torch": True,
    }
    return of_crash("crash", "inductor", failure)


SAME = [
    (
        "error: 'tmp2' was not declared in this scope",
        "error: 'tmp17' was not declared in this scope",
    ),
    ("expected shape [3, 4] but got [4]", "expected shape [31, 4] but got [7]"),
    ("cannot open /home/ann/x/y.py", "cannot open /srv/z.py"),
    ("node buf12 at 0x7f00aa has no layout", "node buf3 at 0x7fbb has no layout"),
]
DIFFERENT = [
    ("error: 'compile' was not declared in this scope", "error: no match for 'operator*'"),
    (
        "derivative for aten::aminmax is not implemented",
        "Cannot set version_counter for inference tensor",
    ),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_the_same_bug_in_another_program(one: str, two: str) -> None:
    assert same_failure(crash(one), crash(two))


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_another_bug(one: str, two: str) -> None:
    assert not same_failure(
        crash(one, frames=("torch/a.py:f",)), crash(two, frames=("torch/b.py:g",))
    )


def test_another_exception_class_is_another_bug() -> None:
    assert not same_failure(crash("x failed", "KeyError"), crash("x failed", "IndexError"))


def test_a_message_of_user_code_is_no_part_of_the_signature() -> None:
    failure = {
        "exception": "AssertionError",
        "first_line": "Acme kernel 7 missing",
        "frames": [],
        "innermost_is_torch": False,
    }
    assert of_crash("crash", "backend", failure).message is None


def test_wrong_values_must_stand_out_from_rounding() -> None:
    wanted = Signature("wrong_result", "inductor")
    clear = of_assertion("wrong result: eager is off by 1e-07 from float64, compiled by 0.5")
    noise = of_assertion("wrong result: eager is off by 0.01 from float64, compiled by 0.03")
    assert clear is not None and noise is not None
    assert same_failure(wanted, clear)
    assert not same_failure(wanted, noise)


def test_what_unittest_puts_before_a_message_is_none_of_it() -> None:
    text = "wrong result: eager is off by 1e-07 from float64, compiled by 0.5"
    assert of_assertion(f"False is not true : {text}") == of_assertion(text) is not None


def test_a_kind_never_slips_into_another() -> None:
    seen = of_assertion("wrong gradient: eager is off by 0 from float64, compiled by 1")
    assert seen is not None and not same_failure(Signature("wrong_result"), seen)
    metadata = of_assertion("wrong metadata: dtype is torch.uint8 in eager, torch.bool compiled")
    assert metadata is not None and metadata.property == "dtype"
    assert not same_failure(Signature("wrong_metadata", property="shape"), metadata)


def test_somebody_elses_assertion_is_not_ours() -> None:
    assert of_assertion("incorrect out shape") is None


def test_normalising_keeps_the_words_that_tell_bugs_apart() -> None:
    assert (
        normalise("tensor a (3) must match tensor b (4)") == "tensor a (N) must match tensor b (N)"
    )

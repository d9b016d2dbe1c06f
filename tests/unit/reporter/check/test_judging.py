"""What runs of a repro mean: rows of what each run showed, and what follows from all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reporter.check.judging import (
    Decision,
    Observation,
    count_needed_passes,
    decide_from_runs,
    observe,
)
from reporter.core.answer import Answer
from reporter.core.kinds import Kind
from reporter.core.signature import Signature

LOWERING = Signature(
    Kind.CRASH, exception="LoweringException", message="no kernel", frames=("torch/a.py:f",)
)
OWN = Signature(Kind.CRASH, exception="KeyError", message=None, frames=("torch/old.py:g",))
OWN_AGAIN = replace(OWN, kind=Kind.CRASH_ON_RECOMPILE)
WRONG = Signature(Kind.WRONG_RESULT)


def fails(exception: str, message: str, *functions: str, **more: Any) -> Answer:
    """An answer of a run that raised; functions in torch/a.py, innermost last, or `repro` for the
    text's own.
    """
    frames = [
        {"file": "torch/a.py", "function": name, "line": 1, "torch": name != "repro"}
        for name in functions
    ]
    failure = {
        "exception": exception,
        "message": message,
        "first_line": message,
        "frames": frames,
        "innermost_is_torch": bool(frames) and frames[-1]["torch"],
    }
    return Answer("fails", failure=failure, exit=1, **more)


NUMBERS = "wrong result: output 0: eager is off by 1e-07, compiled by 0.5"
ROUNDING = "wrong result: output 0: eager is off by 1e-07, compiled by 2e-07"
ROWS: list[tuple[Answer, Signature | None, str, str]] = [
    (Answer("passes"), LOWERING, "fixed", ""),
    (fails("LoweringException", "no kernel", "f"), LOWERING, "reproduces", "no kernel"),
    (fails("LoweringException", "no kernel", "f"), None, "reproduces", "no kernel"),
    (fails("CppCompileError", "error: bad", "f"), LOWERING, "different", "error: bad"),
    # raised by a backend that is part of the repro: torch's frames around it are those of the
    # release
    (fails("KeyError", "'relu'", "f", "repro"), OWN, "reproduces", "relu"),
    (fails("ValueError", "'relu'", "f", "repro"), OWN, "different", "relu"),
    (fails("KeyError", "'relu'", "f", "repro"), OWN_AGAIN, "reproduces", "relu"),
    (fails("ValueError", "'relu'", "f", "repro"), OWN_AGAIN, "different", "relu"),
    (fails("AssertionError", NUMBERS, "repro"), WRONG, "reproduces", "off by"),
    (fails("AssertionError", ROUNDING, "repro"), WRONG, "different", "off by"),
    (fails("AssertionError", NUMBERS, "repro"), LOWERING, "different", "off by"),
    (Answer("died", signal="SIGSEGV", exit=-11), LOWERING, "different", "SIGSEGV"),
    (
        Answer("died", signal="SIGSEGV"),
        Signature(Kind.PROCESS_DEATH, signal="SIGSEGV"),
        "reproduces",
        "",
    ),
    (
        fails("CppCompileError", "fatal error: can't write: No space left on device", "f"),
        None,
        "cannot_judge",
        "the disk is full",
    ),
    (Answer("timeout"), LOWERING, "cannot_judge", "no end within 9 s"),
    (Answer("timeout"), Signature(Kind.HANG), "reproduces", "no end"),
    (Answer("cannot_judge", stdout="needs CUDA\n"), LOWERING, "cannot_judge", "needs CUDA"),
    (Answer("cannot_judge", exit=125), LOWERING, "cannot_judge", "125"),
    (
        fails("AttributeError", "module 'torch' has no attribute 'vmap'", "repro", "__getattr__"),
        LOWERING,
        "cannot_judge",
        "does not have",
    ),
    *(
        (fails("AttributeError", text, "repro"), LOWERING, outcome, "attribute")
        for text, outcome in {
            "'_OpNamespace' 'aten' object has no attribute '_foobar'": "cannot_judge",
            "'Tensor' object has no attribute 'untyped_storage'": "cannot_judge",
            # what is said of the program's own objects may be the compiler's doing
            "attribute '__weakref__' of 'Thing' objects is not writable": "different",
            "'NoneType' object has no attribute 'shape'": "different",
            "'Thing' object has no attribute 'attr1'": "different",
        }.items()
    ),
    (
        fails("AttributeError", "torch._inductor.config.cpp.x does not exist", "repro"),
        LOWERING,
        "cannot_judge",
        "does not have",
    ),
    (fails("AttributeError", "no x", "repro", "f"), LOWERING, "different", "no x"),
    *(
        (fails("ModuleNotFoundError", f"No module named '{name}'", "repro", "f"), *more)
        for name, *more in (
            # torch imports it where it is needed; nothing of torch has failed
            ("onnxscript", LOWERING, "cannot_judge", "what this environment does not have"),
            ("onnxscript", None, "cannot_judge", "'onnxscript'"),
            ("torch._inductor.gone", LOWERING, "different", "gone"),
        )
    ),
    (
        Answer(
            "broken", failure={"exception": "ImportError", "first_line": "no y", "message": "no y"}
        ),
        LOWERING,
        "cannot_judge",
        "no y",
    ),
    (
        fails("AssertionError", "Torch not compiled with CUDA enabled", "f"),
        LOWERING,
        "cannot_judge",
        "missing device",
    ),
    (
        fails("InductorError", "RuntimeError raised:\nTorch not compiled with CUDA enabled", "f"),
        None,
        "cannot_judge",
        "missing device",
    ),
    # what GradScaler and autocast warn of in every program for the CPU
    (
        fails("KeyError", "x", "f", stderr="UserWarning: …, but CUDA is not available. Disabling."),
        None,
        "reproduces",
        "KeyError: x",
    ),
    (
        Answer("fails", exit=1, stderr="RuntimeError: No CUDA GPUs are available"),
        None,
        "cannot_judge",
        "missing device",
    ),
    (
        fails("InvalidCxxCompiler", "No working C++ compiler found", "f"),
        LOWERING,
        "cannot_judge",
        "C++ compiler",
    ),
    (fails("RuntimeError", "can't allocate memory", "f"), LOWERING, "cannot_judge", "memory"),
]


@pytest.mark.parametrize(("answer", "wanted", "outcome", "detail"), ROWS)
def test_one_run(answer: Answer, wanted: Signature | None, outcome: str, detail: str) -> None:
    found = observe(answer, wanted, 9)
    assert found.outcome == outcome and detail in found.detail
    # a run counts as one of a fresh process unless it is said to be another
    assert found.cold and not observe(answer, wanted, 9, cold=False).cold


def w(outcome: Any, signature: Signature | None = None) -> Observation:
    return Observation(outcome, "w", signature, cold=False)


def c(outcome: Any, signature: Signature | None = None) -> Observation:
    return Observation(outcome, "c", signature, cold=True)


ANOTHER = Signature(Kind.CRASH, exception="KeyError", message="k")
STEPS: list[tuple[list[Observation], Any, tuple[int, int], bool, Any]] = [
    ([w("reproduces")], None, (3, 3), True, ("reproduces", (1, 1))),
    ([w("reproduces")], None, (0, 0), False, None),
    ([w("reproduces")], "reproduces", (0, 0), False, ("reproduces", (1, 1))),
    ([c("reproduces")], "fixed", (0, 0), False, ("reproduces", (1, 1))),
    ([w("fixed")], "fixed", (3, 3), True, ("fixed", (1, 1))),
    ([w("fixed")], "reproduces", (3, 3), True, None),
    ([w("fixed"), c("fixed")], "reproduces", (3, 3), True, ("fixed", (2, 2))),
    ([c("fixed")], None, (3, 3), True, None),
    ([c("fixed"), c("fixed")], None, (3, 3), True, ("fixed", (2, 2))),
    ([w("cannot_judge")], None, (3, 3), True, None),
    ([c("cannot_judge")], None, (3, 3), True, ("cannot_judge", (1, 1))),
    ([w("different", LOWERING)], "different", (3, 3), True, None),
    (
        [w("different", LOWERING), c("different", LOWERING)],
        None,
        (3, 3),
        True,
        ("different", (2, 2)),
    ),
    ([w("different", LOWERING), c("different", ANOTHER)], None, (3, 3), True, None),
    # a failure that could not be described may be the other one
    ([w("different", LOWERING), c("different")], None, (3, 3), True, ("different", (2, 2))),
    ([w("different"), c("different", LOWERING)], None, (3, 3), True, ("different", (2, 2))),
    ([w("fixed"), c("reproduces")], None, (3, 3), True, None),
    # a warm worker alone was wrong: fresh processes agree
    ([w("fixed"), c("reproduces"), c("reproduces")], None, (3, 3), True, None),
    ([w("fixed"), *[c("reproduces")] * 3], None, (3, 3), True, ("reproduces", (3, 3))),
    (
        [w("fixed"), c("fixed"), c("fixed")],
        None,
        (3, 3),
        True,
        ("fixed", (3, 3)),
    ),
    (
        [c("fixed"), c("reproduces"), c("fixed")],
        None,
        (3, 3),
        True,
        ("cannot_judge", (1, 3)),
    ),
    # flaky from the start: one sight is enough, its absence takes many runs
    ([c("fixed"), c("reproduces")], None, (2, 3), True, ("reproduces", (1, 2))),
    ([c("fixed")] * 2, None, (2, 3), True, None),
    ([c("fixed")] * 3, None, (2, 3), True, ("fixed", (3, 3))),
    ([c("fixed")] * 7, None, (1, 3), True, None),
    # a pass behind other failures is none
    ([*[c("different")] * 2, c("fixed")], None, (2, 3), True, ("different", (2, 3))),
    ([*[c("fixed")] * 2, c("cannot_judge")], None, (2, 3), True, ("cannot_judge", (1, 3))),
    ([c("cannot_judge")], None, (1, 3), True, ("cannot_judge", (1, 1))),
]


@pytest.mark.parametrize(("observations", "expected", "reported", "known", "result"), STEPS)
def test_all_runs(
    observations: list[Observation],
    expected: Any,
    reported: tuple[int, int],
    known: bool,
    result: Any,
) -> None:
    found = decide_from_runs(observations, expected, reported, known)
    assert (found and (found.outcome, found.runs)) == result


def test_a_flaky_answer_says_how_often() -> None:
    found = decide_from_runs([c("fixed"), c("reproduces"), c("fixed")], None)
    assert isinstance(found, Decision) and "flaky: fails in 1 of 3" in found.detail


def test_rarer_failures_take_more_passes() -> None:
    assert [count_needed_passes((hits, 3)) for hits in (1, 2)] == [8, 3]
    assert count_needed_passes((1, 100)) == 10

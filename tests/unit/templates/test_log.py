"""The log in an issue: the frames that matter, and a line for those left out."""

from __future__ import annotations

import pytest

from templates.log import cut_log, find_last_words, find_raising_frame


def frames(count: int, start: int = 0) -> str:
    lines = [
        f'  File "torch/_dynamo/x.py", line {n}, in f{n}\n    g{n}()\n    ^^^^'
        for n in range(start, start + count)
    ]
    return "\n".join(lines)


OWN = '  File "repro.py", line 3, in main\n    run()\n'
LOG = f"Traceback (most recent call last):\n{OWN}{frames(30)}\nKeyError: 'x'\nmore of it"


def test_the_program_the_entry_and_the_last_frames_stay() -> None:
    text = cut_log(LOG, last=3)
    assert text.startswith("Traceback (most recent call last):\n" + OWN)
    assert "line 0, in f0\n    g0()\n  [... 26 frames left out ...]\n  File" in text
    assert [f"in f{n}\n" in text for n in (1, 26, 27, 28, 29)] == [False, False, True, True, True]
    assert text.endswith("g29()\nKeyError: 'x'\nmore of it") and "^" not in text
    assert cut_log(text, last=3) == text


def test_each_traceback_of_a_chain_is_cut_alone() -> None:
    chained = f"{LOG}\n\nThe above exception was the direct cause of it:\n\n{LOG}"
    text = cut_log(chained, last=2)
    assert text.count("27 frames left out") == 2 and text.count("KeyError") == 2


def test_nothing_is_cut_that_is_short_or_no_traceback() -> None:
    short = f"Traceback (most recent call last):\n{OWN}{frames(5)}\nKeyError: 'x'"
    assert cut_log(short) == short.replace("    ^^^^\n", "")
    assert cut_log("no traceback\nat all") == "no traceback\nat all" and cut_log("") == ""


def test_a_long_message_loses_its_middle() -> None:
    text = cut_log("\n".join(["KeyError: x", *(f"line {n}" for n in range(500))]))
    lines = text.splitlines()
    assert lines[0] == "KeyError: x" and lines[-1] == "line 499"
    assert "[... 381 lines left out ...]" in lines and len(lines) == 121


def test_where_an_exception_was_raised() -> None:
    assert find_raising_frame(LOG) == ("torch/_dynamo/x.py", "f29")
    raised = '\n  File "torch/_dynamo/exc.py", line 7, in unimplemented\n    raise Unsupported(msg)'
    assert find_raising_frame(frames(2) + raised) == ("torch/_dynamo/x.py", "f1")
    assert find_raising_frame(OWN) is None and find_raising_frame("") is None
    called = '\n  File "torch/_ops.py", line 875, in __call__\n    return self._op(*args)'
    assert find_raising_frame(frames(2) + called) is None


@pytest.mark.parametrize("heading", ["from user code", "Original traceback"])
def test_what_was_being_traced_has_not_raised(heading: str) -> None:
    traced = '   File "torch/_higher_order_ops/base.py", line 4, in inner\n    return f(x)\n'
    log = f"{LOG}\n\n{heading}:\n{OWN}{traced}\n\nSet TORCH_LOGS\n"
    assert find_raising_frame(log) == ("torch/_dynamo/x.py", "f29")


def test_hints_for_a_longer_log_are_left_out() -> None:
    hint = "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace"
    older = (
        "You can suppress this exception and fall back to eager by setting:\n"
        "    import torch._dynamo\n    torch._dynamo.config.suppress_errors = True"
    )
    assert cut_log(f"{LOG}\n\n{hint}\n\n{older}\n") == cut_log(LOG)
    assert cut_log("error: x\n   3 | int y\n     | ^~~") == "error: x\n   3 | int y\n     | ^~~"


def test_the_candidates_of_a_compiler_are_left_out() -> None:
    log = (
        "k.cpp:32:38: error: no match for operator*\n   32 |  auto y = a * b;\n      |  ~ ^ ~\n"
        "In file included from vec.h:8:\nvec.h:64:41: note: candidate: operator*\n"
        "   64 | template\n      |   ^\n"
        "vec.h:64:41: note:   deduction failed\nk.cpp:40:1: error: also wrong\n   40 | z\n"
    )
    assert cut_log(log).splitlines() == [
        "k.cpp:32:38: error: no match for operator*",
        "   32 |  auto y = a * b;",
        "      |  ~ ^ ~",
        "In file included from vec.h:8:",
        "[... 4 lines of the compiler's notes left out ...]",
        "k.cpp:40:1: error: also wrong",
        "   40 | z",
    ]
    assert cut_log(cut_log(log)) == cut_log(log)


DEATH = """terminate called after throwing an instance of 'std::runtime_error'
  what():  kernel, cabc.main.cpp:29, index out of bounds: 0 <= tmp7 < 2L
Fatal Python error: Fatal Python error: AbortedAborted



Thread 0x… (most recent call first):
  File "concurrent/futures/thread.py", line 81 in _worker

Current thread 0x… (most recent call first):
  File "repro.py", line 6 in repro
  File "candidate.py", line 127 in run
  File "worker_main.py", line 52 in <module>

Extension modules: numpy._core._multiarray_umath, torch._C
Extension modules: numpy.random, numpy.random (total:  (total: 2424))
"""


def test_the_stacks_of_a_dead_process_lose_what_had_no_part_in_it() -> None:
    assert cut_log(DEATH).splitlines() == [
        "terminate called after throwing an instance of 'std::runtime_error'",
        "  what():  kernel, cabc.main.cpp:29, index out of bounds: 0 <= tmp7 < 2L",
        "Fatal Python error: Aborted",
        "",
        "Current thread 0x… (most recent call first):",
        '  File "repro.py", line 6 in repro',
    ]
    assert cut_log(cut_log(DEATH)) == cut_log(DEATH)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEATH, "index out of bounds: 0 <= tmp7 < 2L"),
        ("free(): invalid pointer\n", "free(): invalid pointer"),
        ("x\ndouble free or corruption (out)\n", "double free or corruption (out)"),
        ("a.out: k.cpp:3: main: Assertion `n > 0' failed.\n", "Assertion `n > 0' failed"),
        ("  what():  bad alloc", "bad alloc"),
        ("Fatal Python error: Segmentation fault\n", ""),
    ],
)
def test_the_last_words_of_a_process(text: str, said: str) -> None:
    assert find_last_words(text) == said

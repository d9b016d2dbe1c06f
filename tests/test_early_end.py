"""Failures that come before the C++ compiler are shown without one: which they are, and what a worker does then."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anonymizer.harness import Check
from collectors import early_end
from reporter.reduce import early
from reporter.reduce.pool import Answer, WorkerPool

CRASH = Check("crash")


def failure(*frames: str) -> dict[str, Any]:
    """A described failure with `file:function` frames, outermost first."""
    split = (frame.rsplit(":", 1) for frame in frames)
    return {"frames": [{"file": f"torch/{file}", "function": name} for file, name in split]}


COMPILE = ("_dynamo/output_graph.py:call_user_compiler", "_inductor/compile_fx.py:compile_fx")
LOWERED = failure(*COMPILE, "_inductor/graph.py:run", "_inductor/lowering.py:take")


@pytest.mark.parametrize(
    ("described", "check", "early_enough"),
    [
        (LOWERED, CRASH, True),
        (failure(*COMPILE, "_inductor/scheduler.py:fuse"), CRASH, True),
        (LOWERED, Check("wrong_result"), False),
        (LOWERED, Check("crash", calls=((("s0", 2),), (("s0", 3),))), False),
        (failure(*COMPILE, "_inductor/async_compile.py:cpp_pybinding"), CRASH, False),
        (failure(*COMPILE, "_inductor/codecache.py:load_by_key_path"), CRASH, False),
        (failure("_inductor/compile_fx.py:bw_compiler", "_inductor/graph.py:run"), CRASH, False),
        (failure("_functorch/runtime_wrappers.py:backward", *COMPILE), CRASH, False),
        (failure("_dynamo/symbolic_convert.py:run"), CRASH, False),
        ({"frames": []}, CRASH, False),
        (None, CRASH, False),
    ],
)
def test_failures_in_inductors_own_python_come_early(
    described: dict[str, Any] | None, check: Check, early_enough: bool
) -> None:
    assert early.comes_early(described, check) is early_enough


@pytest.mark.parametrize(
    ("command", "compiles"),
    [
        (["g++", "/c/kernel.cpp", "-o", "/c/kernel.so"], True),
        (["/usr/bin/x86_64-linux-gnu-g++-13", "-O3", "a.cpp"], True),
        ("clang++ -c header.h -o header.h.pch", True),
        (["g++", "--version"], False),
        (["gcc", "-print-file-name=libgomp.so"], False),
        (["cat", "a.cpp"], False),
        ([], False),
    ],
)
def test_a_compile_is_told_from_a_question_to_the_compiler(command: Any, compiles: bool) -> None:
    assert early_end._compiles(command) is compiles


PROGRAM = """
import torch

def repro(x):
    {0}
    return torch.relu(x) * 2

def main():
    compiled = torch.compile(repro, backend={1!r})
    out = compiled(torch.ones(40, 40))
    print("went all the way")
    raise ValueError("after the compiler")

if __name__ == "__main__":
    main()
"""
BROKEN = """
from torch._inductor import lowering

def refuse(*args, **kwargs):
    raise RuntimeError("no lowering today")
lowering.lowerings[torch.ops.aten.relu.default] = refuse
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("early")
    with WorkerPool(Path(sys.executable), 1, dict(os.environ), folder) as made:
        yield made


def asked(pool: WorkerPool, text: str, **overrides: Any) -> Answer:
    return pool.submit(text, overrides=overrides).result(timeout=300)


def test_a_candidate_that_reaches_the_compiler_has_passed(pool: WorkerPool) -> None:
    text = PROGRAM.format("x = x + 1", "inductor")
    whole = asked(pool, text)
    assert whole.outcome == "fails" and "after the compiler" in str(whole.failure)
    other = text.replace("x + 1", "x + 3")  # no kernel of which lies in a cache
    ended = asked(pool, other, **early.ENDS_AT_COMPILER)
    assert ended.outcome == "passes" and ended.failure is None


def test_a_failure_before_the_compiler_is_the_same_with_and_without(pool: WorkerPool) -> None:
    text = PROGRAM.format("x = x + 1", "inductor")
    text = text.replace("import torch\n", "import torch\n" + BROKEN, 1)
    whole, ended = asked(pool, text), asked(pool, text, **early.ENDS_AT_COMPILER)
    assert whole.outcome == ended.outcome == "fails"
    assert whole.failure is not None and ended.failure is not None
    assert "no lowering today" in whole.failure["message"]
    assert whole.failure["message"] == ended.failure["message"]
    assert early.comes_early(whole.failure, CRASH)


def test_what_needs_no_compiler_goes_all_the_way(pool: WorkerPool) -> None:
    answer = asked(pool, PROGRAM.format("x = x + 1", "eager"), **early.ENDS_AT_COMPILER)
    assert answer.outcome == "fails" and "after the compiler" in str(answer.failure)

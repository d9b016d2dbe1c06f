"""Failures that come before the C++ compiler are told from those that do not, by the frames that
were recorded.
"""

from __future__ import annotations

from typing import Any

import pytest

from anonymizer.graph.repro import ReproAssertion
from reporter.reduce import early_end

CRASH = ReproAssertion("crash")


def failure(*frames: str) -> dict[str, Any]:
    """A described failure with `file:function` frames, outermost first."""
    split = (frame.rsplit(":", 1) for frame in frames)
    return {"frames": [{"file": f"torch/{file}", "function": name} for file, name in split]}


COMPILE = ("_dynamo/output_graph.py:call_user_compiler", "_inductor/compile_fx.py:compile_fx")
LOWERED = failure(*COMPILE, "_inductor/graph.py:run", "_inductor/lowering.py:take")


@pytest.mark.parametrize(
    ("described", "assertion", "early_enough"),
    [
        (LOWERED, CRASH, True),
        (failure(*COMPILE, "_inductor/scheduler.py:fuse"), CRASH, True),
        (LOWERED, ReproAssertion("wrong_result"), False),
        (LOWERED, ReproAssertion("crash", calls=((("s0", 2),), (("s0", 3),))), False),
        (failure(*COMPILE, "_inductor/async_compile.py:cpp_pybinding"), CRASH, False),
        (failure(*COMPILE, "_inductor/codecache.py:load_by_key_path"), CRASH, False),
        (failure("_inductor/compile_fx.py:bw_compiler", "_inductor/graph.py:run"), CRASH, False),
        (failure("_functorch/runtime_wrappers.py:backward", *COMPILE), CRASH, False),
        (failure("_dynamo/symbolic_convert.py:run"), CRASH, False),
        # raised by a kernel: there is none where candidates end before the compiler
        (failure("_inductor/output_code.py:__call__", "_inductor/generated:call"), CRASH, False),
        ({"frames": []}, CRASH, False),
        (None, CRASH, False),
    ],
)
def test_failures_in_inductors_own_python_come_early(
    described: dict[str, Any] | None, assertion: ReproAssertion, early_enough: bool
) -> None:
    assert early_end.comes_early(described, assertion) is early_enough

"""Which failures come before any C++ compiler, so that candidates may end where one would start.

The recording only suggests it. What counts is that a candidate that ends there has shown the
failure, and the final text is shown in fresh processes that go all the way. A candidate that ends
early counts as one without the failure.
"""

from __future__ import annotations

import re

from anonymizer.graph.repro import ReproAssertion
from collectors.protocol.failure import Failure
from collectors.protocol.variation import Overrides
from reporter.core.kinds import Kind
from reporter.diagnose.stacks import is_raised_while_running

#: What a worker is told with such a candidate.
ENDS_AT_COMPILER: Overrides = {"end": "compiler"}
#: Files and functions of torch that stand between a raise and the compiler, from 2.0 to 2.15:
#: loading what was generated.
_LOADING = re.compile(r"(?:/|^)(?:async_compile|cpp_builder)\.py$")
_LOADERS = frozenset(
    ("load_by_key_path", "_reload_python_module", "compile_file", "load_async", "load_pybinding")
)


def comes_early(failure: Failure | None, assertion: ReproAssertion) -> bool:
    """Whether a described failure seems to be raised inside Inductor's Python, in the forward of
    the first compile.

    Args:
        failure: of a run of the harness; None: it was not described, and nothing is said of it.
        assertion: what the harness asserts.
    """
    frames = (failure.get("frames") if failure is not None else None) or ()
    if (
        assertion.kind != Kind.CRASH
        or assertion.calls
        or not frames
        or is_raised_while_running(failure)
    ):
        return False
    files = [str(frame.get("file", "")) for frame in frames]
    functions = [str(frame.get("function", "")) for frame in frames]
    return (
        any(file.startswith("torch/_inductor/") for file in files)
        and not any(_LOADING.search(file) for file in files)
        and not any(
            function in _LOADERS or "backward" in function or function.startswith("bw_")
            for function in functions
        )
    )

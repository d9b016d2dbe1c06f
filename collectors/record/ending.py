"""How a program came to its end: with which exception, raised where, in words that are the same
without torch.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import Callable, List, Tuple

from .. import FOLDER
from ..call import failure
from ..machine.distributions import is_installed
from ..protocol.failure import Failure, ScriptException


def describe_exception(error: BaseException) -> ScriptException:
    """How the script itself ended: its exception, and whether torch or the script raised it."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    torch = os.path.dirname(getattr(sys.modules.get("torch"), "__file__", None) or "")
    inside = bool(frames and torch) and frames[-1][0].startswith(torch + os.sep)
    return {
        "class": type(error).__name__,
        "raised_in_torch": inside,
        "location": _find_location(frames),
        "failure": _describe_failure(error),
    }


def await_threads() -> None:
    """Does what Python does when the main module has ended: waits for threads and calls what is
    registered with `atexit`, which belong to the program (`Py_FinalizeEx` in
    Python/pylifecycle.c).

    Since 3.12 no process can be forked once Python itself has begun with that.
    """
    steps: List[Callable[[], None]] = [
        threading._shutdown,  # type: ignore[attr-defined]
        atexit._run_exitfuncs,
    ]
    for step in steps:
        with contextlib.suppress(BaseException):  # a callback's has been shown; or Ctrl-C
            step()


def _describe_failure(error: BaseException) -> Failure:
    if "torch" in sys.modules:
        return failure.describe(error)
    return {
        "exception": type(error).__name__,
        "message": str(error),
        "first_line": str(error),
    }


def _find_location(frames: List[Tuple[str, int]]) -> str:
    """Where the innermost frame of the user's own stands: `train.py, line 7`, `train.ipynb, cell 3,
    line 2`.
    """
    own = FOLDER
    roots = [os.path.dirname(os.__file__) + os.sep, own, "<"]
    for path, line in reversed(frames):
        if not is_installed(path) and not any(path.startswith(root) for root in roots):
            return "{}, line {}".format(os.path.basename(path), line)
    return ""

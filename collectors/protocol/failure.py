"""An exception, a signal that ended a process, and the end of what it printed, as both sides
describe them.
"""

from __future__ import annotations

import os
import signal
from typing import List, TypedDict, Union

_TAIL = 4000


class FailureFrame(TypedDict):
    """One frame of a traceback."""

    #: Path; `torch/_inductor/ir.py` for torch's own.
    file: str
    function: str
    #: From 1.
    line: int
    #: Whether the file is torch's.
    torch: bool


class _Failure(TypedDict):
    #: Class of the exception that carries the diagnosis.
    exception: str
    #: Its text, at most 20,000 characters.
    message: str
    #: The line of it that names the problem.
    first_line: str


class Failure(_Failure, total=False):
    """An exception as data (`call.failure.describe`); without torch only the first three keys."""

    #: Classes of all exceptions that wrap each other, outermost first.
    chain: List[str]
    #: Outermost first, the last 40.
    frames: List[FailureFrame]
    innermost_is_torch: bool
    #: As Python prints it, without our frames; a long one without its middle.
    traceback: str
    #: Generated kernels that a C++ compiler refused, by name.
    kernels: List[str]


#: What ended a program (`record.ending.describe_exception`): the exception's `class`, the
#: `failure`, whether it was raised in torch, and the `location` of the innermost frame of the
#: user's own (`train.py, line 7`, or nothing).
ScriptException = TypedDict(
    "ScriptException", {"class": str, "failure": Failure, "raised_in_torch": bool, "location": str}
)


def name_signal(number: int) -> str:
    """`SIGSEGV` for 11; `signal 34` where the system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def read_tail(path: Union[str, os.PathLike[str]]) -> str:
    """The last few thousand characters of a file; nothing where there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return ""

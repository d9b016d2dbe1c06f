"""Ends a candidate at the moment it starts a C++ compiler: a failure that comes before needs no
compiler to be shown.

Most of a compile's time on a CPU is g++. A graph that reaches it has passed everything of Inductor
that may raise in Python.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

_COMPILER = re.compile(r"(?:[\w.]+-)*(?:g\+\+|gcc|c\+\+|cc|clang|clang\+\+|icpx)(?:-[\d.]+)?")
#: A question about the compiler (`--version`) has no source among its arguments.
_SOURCE = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")


class CompilerReachedError(BaseException):
    """Raised in place of the compiler's start; no handler for errors of a backend catches it."""


def end_at_compiler() -> None:
    """Raise `CompilerReachedError` from now on where this process would start a C++ compiler;
    there is no way back.
    """
    sys.addaudithook(_hear)


def _hear(event: str, arguments: Any) -> None:
    if event == "subprocess.Popen" and starts_compile(arguments[1]):
        raise CompilerReachedError


def starts_compile(command: Any) -> bool:
    """Whether a command, a text or a list of words, has a C++ compiler compile a file."""
    words = command.split() if isinstance(command, str) else [str(word) for word in command]
    return (
        bool(words)
        and _COMPILER.fullmatch(os.path.basename(words[0])) is not None
        and any(word.endswith(_SOURCE) for word in words[1:])
    )

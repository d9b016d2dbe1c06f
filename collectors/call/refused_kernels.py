"""Which generated kernels a C++ compiler refused: the error quotes their lines, and the wrapper
that holds them is in the traceback.
"""

from __future__ import annotations

import re
import traceback
from typing import Iterable, List

_KERNEL = re.compile(r"^(\w+) = async_compile\.cpp\w*\(.*?'''(.*?)'''", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"\berror: .*\n +\d+ \|(.*)")
_MOST = 3


def find_refused_kernels(errors: Iterable[BaseException], message: str) -> List[str]:
    """The names that inductor gave the refused kernels, which are made of those of their operators;
    empty if unknown.
    """
    quoted = {" ".join(line.split()) for line in _QUOTED.findall(message)}
    if not quoted:
        return []
    for error in errors:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_name == "<module>" and "async_compile" in frame.f_globals:
                found = [
                    name
                    for name, text in _KERNEL.findall(_text(frame.f_code.co_filename))
                    if quoted & {" ".join(line.split()) for line in text.splitlines()}
                ]
                if found:
                    return found[:_MOST]
    return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

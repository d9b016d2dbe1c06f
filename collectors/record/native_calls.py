"""The C function of torch that is under way, noted in a file that outlives the process.

Modes see no call that dies before torch has read its arguments: whether any of them is a tensor is
only known then (`torch/csrc/utils/python_arg_parser.cpp`). Python's profiler sees it.
"""

from __future__ import annotations

import mmap
import os
import sys
from types import FrameType
from typing import List

import torch

from ..machine import public_names
from ..protocol.starting import MOST_OF_NAME


class NativeCalls:
    """Sees the calls of torch's C functions that the thread makes which it is set in.

    The file `path` holds the public name of the innermost one under way, and zeros behind it.
    """

    def __init__(self, path: str) -> None:
        self.pid = os.getpid()
        self._names = public_names.collect_public_names()
        self._under_way: List[str] = []
        with open(path, "wb") as file:
            file.write(bytes(MOST_OF_NAME))
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), MOST_OF_NAME)

    def watch(self) -> None:
        """Begins, for the calling thread, to the end of the process."""
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, function: object) -> None:
        if not event.startswith("c_") or os.getpid() != self.pid:
            return
        name = self._find_name(function)
        if not name:
            return
        if event == "c_call":
            self._under_way.append(name)
        elif self._under_way:
            self._under_way.pop()
        last = self._under_way[-1] if self._under_way else ""
        self._memory[:] = last.encode()[:MOST_OF_NAME].ljust(MOST_OF_NAME, b"\0")

    def _find_name(self, function: object) -> str:
        """Its public name; nothing for a function that is not torch's."""
        if isinstance(getattr(function, "__self__", None), torch.Tensor):
            return "torch.Tensor." + str(getattr(function, "__name__", ""))
        name = self._names.get(id(function), "")
        return name if name.startswith("torch.") else ""

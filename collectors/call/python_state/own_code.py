"""Which classes and modules are the program's own, and which of its classes have state that
counts.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, List

import torch

from ... import FOLDER
from ...machine.distributions import is_installed
from ...machine.libraries import is_of_python_or_torch


def is_own(kind: type) -> bool:
    """Whether a class is the program's own, and not a library's."""
    return is_own_name(getattr(kind, "__module__", None))


def list_own_modules() -> List[Any]:
    """The loaded modules of the program's own."""
    return [module for name, module in list(sys.modules.items()) if is_own_name(name) and module]


@functools.cache
def is_own_name(module: Any) -> bool:
    """Whether a module is the program's own: neither Python's, nor torch's, nor installed."""
    if not isinstance(module, str):
        return False
    if module == "__main__":
        return True
    if is_of_python_or_torch(module):
        return False
    path = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(path, str):
        return False
    real = os.path.realpath(path)
    return not (is_installed(real) or real.startswith(FOLDER))


def is_ordinary(kind: type) -> bool:
    """Whether a class has state of its own that a compiled call has to keep.

    Classes made from torch's other than modules (autograd functions, modes that watch operators)
    run in other places when compiled; members of an enumeration have no state.
    """
    return not any(
        base.__module__.split(".")[0] in ("torch", "enum", "threading", "logging")
        and base not in (torch.nn.Module,)
        and not issubclass(base, torch.nn.Module)
        for base in kind.__mro__
    )

"""Which code is Python's own, torch's or NumPy's: by the name of its module, or by its file."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig

from .distributions import has_known_name

_TORCH = frozenset(("torch", "functorch"))
_STDLIB = tuple(
    os.path.realpath(sysconfig.get_paths()[name]) + os.sep for name in ("stdlib", "platstdlib")
)


def is_of_python_or_torch(module: object) -> bool:
    """Whether a module name belongs to torch, to NumPy or to the standard library.

    A module of the program may have the name of one of Python's, such as `profile`.
    """
    top = str(module or "").split(".")[0]
    if top in _TORCH or top in ("builtins", "numpy"):
        return True
    if top == "__main__":
        return False
    path = getattr(sys.modules.get(top), "__file__", None)
    if path is not None and not _is_in_stdlib(path):
        return False
    names = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
    return top in names or path is not None


@functools.cache
def is_library_file(path: str) -> bool:
    """Whether a file, as code objects name it, is Python's own, torch's or NumPy's.

    Python 3.11 and later have `os`, `abc` and other modules frozen.
    """
    if path.startswith("<"):
        return path.startswith("<frozen ")
    modules = [sys.modules.get(name) for name in (*_TORCH, "numpy")]
    files = [getattr(module, "__file__", None) for module in modules]
    folders = tuple(os.path.dirname(os.path.realpath(file)) + os.sep for file in files if file)
    return _is_in_stdlib(path) or os.path.realpath(path).startswith(folders)


@functools.cache
def _is_in_stdlib(path: str) -> bool:
    real = os.path.realpath(path)
    return real.startswith(_STDLIB) and not has_known_name(real)

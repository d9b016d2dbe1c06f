"""Who owns a live object: torch, NumPy and Python, whose names everybody knows, or the user.

Names are found by *identity* in public modules, or by a path that leads back to the same object; a
private thing that merely claims a public module is not believed. Functions are judged by the file
of their code, since `functools.wraps` makes torch's wrappers claim the user's module.
"""

from __future__ import annotations

import builtins
import os
import sys
from typing import Any, Dict, List, Optional

import torch
import torch.nn.functional

from .. import FOLDER
from ..machine.distributions import is_installed
from ..machine.libraries import is_library_file, is_of_python_or_torch
from ..machine.public_names import NAMESPACES, list_callables
from ..protocol.events import OwnFrame
from ..protocol.program_source import NamedReference

_TOPS = {"torch", "functorch"}
_NAMESPACES = (
    "torch.nn",
    "torch",
    "torch.nn.functional",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.autograd",
    "torch.Tensor",
    "torch.nn.init",
    "torch.utils.checkpoint",
    "torch.fx",
    "math",
    "operator",
    "functools",
    "itertools",
)
_INDEX: Dict[int, str] = {}


def is_user_code(function: Any) -> Optional[bool]:
    """Whether a Python function was written by the user; None for code made from text, as
    dataclasses do.
    """
    code = getattr(function, "__code__", None)
    if code is None or is_library_file(code.co_filename):
        return False
    return None if code.co_filename.startswith("<") else True


def _is_own_file(path: str) -> bool:
    """Whether a file belongs neither to Python, nor to an installed package, nor to us."""
    real = os.path.realpath(path)
    ours = os.path.realpath(FOLDER) + os.sep
    return not (is_installed(real) or real.startswith(ours) or is_library_file(path))


def list_own_files() -> List[str]:
    """The files of the user's modules: those that are loaded and belong neither to Python nor to an
    installed package.
    """
    found = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("torch."):  # also what Inductor generates, which lies in its cache
            continue
        path = getattr(module, "__file__", None)
        # some of torch's modules, such as torch.ops, claim a file that there is not
        if not isinstance(path, str) or not path.endswith(".py") or not os.path.isfile(path):
            continue
        if _is_own_file(path):
            found.add(os.path.abspath(path))
    return sorted(found)


def list_own_frames() -> List[OwnFrame]:
    """The functions of the user's files that are running, outermost first; at most 20."""
    found: List[OwnFrame] = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if _is_own_file(code.co_filename):
            own: OwnFrame = {
                "file": os.path.abspath(code.co_filename),
                "function": code.co_name,
                "line": frame.f_lineno,
            }
            found.append(own)
        frame = frame.f_back  # type: ignore[assignment]
    return found[:-21:-1]


def list_own_texts() -> Dict[str, str]:
    """The program's texts that are no files: cells of a running notebook, `python -c`."""
    found: Dict[str, str] = {}
    cells = getattr(sys.modules.get("__main__"), "In", None)
    if isinstance(cells, list) and "IPython" in sys.modules:
        found.update(
            ("In[{}]".format(number), text)
            for number, text in enumerate(cells)
            if isinstance(text, str) and text.strip()
        )
    words = list(getattr(sys, "orig_argv", ()))
    if "-c" in words[1:-1]:
        found["-c"] = words[words.index("-c") + 1]
    return found


def _build_index() -> Dict[int, str]:
    if not _INDEX:
        for prefix in _NAMESPACES:
            for name, value in list_callables(resolve(prefix)):
                if prefix.split(".")[0] in _TOPS and _is_imported(value):
                    continue
                _INDEX.setdefault(id(value), prefix + "." + name)
    return _INDEX


def _is_imported(value: object) -> bool:
    """Whether a module of torch has this from elsewhere: `Generic` in `torch.utils.checkpoint`."""
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.split(".")[0] not in (*_TOPS, "builtins")


def resolve(dotted: str) -> Any:
    """The object a dotted name leads to, or None."""
    parts = dotted.split(".")
    value: Any = sys.modules.get(parts[0]) or (
        __import__(parts[0]) if is_of_python_or_torch(parts[0]) else None
    )
    for part in parts[1:]:
        try:
            value = getattr(value, part)
        except Exception:  # a lazily loaded part of torch may fail to load
            return None
    return value


def find_public_reference(value: Any) -> Optional[NamedReference]:
    """torch's, NumPy's or Python's own name for a value, or None."""
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and getattr(builtins, name, None) is value:
        return {"kind": "builtin", "name": name}
    operator = _name_operator(value)
    if operator is not None:
        return {"kind": "torch", "name": operator}
    found = _build_index().get(id(value))
    if found is not None and resolve(found) is value:
        return _resolve(found)
    module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if type(value).__module__.split(".")[0] == "numpy":  # a `ufunc` of NumPy 1 names no module
        module, qualname = "numpy", name
    if isinstance(module, str) and isinstance(qualname, str) and is_of_python_or_torch(module):
        dotted = module + "." + qualname
        known = resolve(dotted)
        wrapped = getattr(value, "__wrapped__", None)
        if known is value or wrapped is not None and wrapped is known:
            listed = _find_listed_name(module, qualname, value)
            return _resolve(_find_shortest(module, listed, known))
        # where a package offers a function under the name of its module (`scan.scan`), the path
        # to the module leads to the function
        package = module.rpartition(".")[0] + "." + qualname
        if resolve(package) is value:
            return _resolve(_find_shortest(module.rpartition(".")[0], qualname, value))
    return None


def _find_listed_name(module: str, own: str, value: object) -> str:
    """The name under which a module of Python lists an object first: `weakref.ref`, which calls
    itself `ReferenceType`. NumPy's list is in no order that means anything.
    """
    names = vars(sys.modules[module]) if module in sys.modules else {}
    listed = names.get("__all__", ()) if module.split(".")[0] != "numpy" else ()
    return next((each for each in listed if names.get(each) is value), own)


def _find_shortest(module: str, qualname: str, value: Any) -> str:
    """The name that people write: of the outermost package that offers the object, not of the
    module that defines it.
    """
    parts = module.split(".")
    for length in range(1, len(parts)):
        dotted = ".".join(parts[:length] + [qualname])
        if resolve(dotted) is value:
            return dotted
    return module + "." + qualname


def _resolve(dotted: str) -> NamedReference:
    top = dotted.split(".")[0]
    if top == "builtins":
        return {"kind": "builtin", "name": dotted.split(".", 1)[1]}
    return {"kind": "torch" if top in _TOPS else "stdlib", "name": dotted}


def _name_operator(value: Any) -> Optional[str]:
    if isinstance(value, torch._ops.OpOverload):
        dotted = "torch.ops." + str(value)
    elif isinstance(value, torch._ops.OpOverloadPacket):
        dotted = "torch.ops." + str(value).replace("::", ".")
    elif isinstance(value, torch._ops._OpNamespace):
        dotted = "torch.ops." + value.name
    elif value is torch.ops:
        return "torch.ops"
    else:
        return None
    return dotted if dotted.split(".")[2] in NAMESPACES else None

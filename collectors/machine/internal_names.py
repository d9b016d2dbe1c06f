"""The words of a compiler's own sources, which its tracebacks quote, and the addresses in them.

They are read from the modules that are loaded, so this module imports neither torch nor Triton: it
is there before a script with kernels of its own has said how they are to be imported.
"""

from __future__ import annotations

import re
import sys
import types
from typing import Iterator, List, Set, Tuple

_INTERNALS = (
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch.fx",
    "torch._subclasses",
    "torch._ops",
    "torch._export",
    "torch.export",
    "torch.testing",
)
_ADDRESS = re.compile(r"https?://[^\s\"'<>)\]`]+")


def collect_internal_names(packages: Tuple[str, ...] = _INTERNALS) -> List[str]:
    """Names a traceback through a compiler shows: functions, classes, variables and settings of its
    modules that are loaded now. With them the addresses of documents that its messages point to.
    """
    words: Set[str] = set()
    addresses: Set[str] = set()
    for module_name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType) or not module_name.startswith(packages):
            continue
        words.update(module_name.split("."))
        settings = vars(module).get("_config")
        if isinstance(settings, dict):  # of a module of torch's configuration
            words.update(part for name in settings for part in str(name).split("."))
        for name, value in list(vars(module).items()):
            words.add(name)
            if getattr(value, "__module__", None) != module_name:
                continue
            functions = vars(value).values() if isinstance(value, type) else (value,)
            for function in functions:
                code = getattr(getattr(function, "__func__", function), "__code__", None)
                if isinstance(code, types.CodeType):
                    words.update((code.co_name, *code.co_varnames, *code.co_names))
                    addresses.update(_list_addresses(code))
    return sorted((*filter(str.isidentifier, words), *addresses))


def _list_addresses(code: types.CodeType) -> Iterator[str]:
    """The addresses in the messages of a function, and of those that are defined in it."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _list_addresses(constant)
        elif isinstance(constant, str) and "://" in constant:
            yield from (found.rstrip(".,;:") for found in _ADDRESS.findall(constant))

"""The words of a compiler's own sources, which its tracebacks quote.

They are read from the modules that are loaded, so this module imports neither torch nor Triton: it
is there before a script with kernels of its own has said how they are to be imported.
"""

from __future__ import annotations

import sys
import types
from typing import List, Set, Tuple

_INTERNALS = (
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch.fx",
    "torch._subclasses",
    "torch._ops",
)


def internals(packages: Tuple[str, ...] = _INTERNALS) -> List[str]:
    """Names a traceback through a compiler shows: functions, classes and variables of its modules
    that are loaded now.
    """
    words: Set[str] = set()
    for module_name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType) or not module_name.startswith(packages):
            continue
        words.update(module_name.split("."))
        for name, value in list(vars(module).items()):
            words.add(name)
            if getattr(value, "__module__", None) != module_name:
                continue
            functions = vars(value).values() if isinstance(value, type) else (value,)
            for function in functions:
                code = getattr(getattr(function, "__func__", function), "__code__", None)
                if isinstance(code, types.CodeType):
                    words.update((code.co_name, *code.co_varnames, *code.co_names))
    return sorted(word for word in words if word.isidentifier())

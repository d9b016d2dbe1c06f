"""What a function names, and whether compiling may change how often it runs."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any, Iterator

#: What a function that names one of these does depends on addresses, references or its callers,
#: which compiling may change.
_CIRCUMSTANTIAL = frozenset(
    "id data_ptr _cdata getrefcount getsizeof weakref ref WeakKeyDictionary WeakValueDictionary"
    " WeakSet finalize _getframe currentframe extract_stack get_ident current_thread gc".split()
)


def list_names(code: Any) -> Iterator[str]:
    """Names that a code object and those inside it use: of globals and of attributes."""
    for name in code.co_names:
        yield name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for name in list_names(constant):
                yield name


def is_circumstantial(function: Any) -> bool:
    """Whether compiling may change how often a function runs, or what it sees around it: it depends
    on addresses or references, or Dynamo was told not to look into it.
    """
    return bool(_CIRCUMSTANTIAL.intersection(list_names(function.__code__))) or _is_opaque(function)


def _is_opaque(function: Any) -> bool:
    """Whether Dynamo was told not to look into a function: it may run once, when compiling."""
    if getattr(function, "_dynamo_marked_constant", False):
        return True
    rules = sys.modules.get("torch._dynamo.trace_rules")
    for name in ("_allowed_callable_ids", "_nonstrict_trace_callable_ids", "_leaf_function_ids"):
        with contextlib.suppress(Exception):  # tables of torch's own, which every release changes
            if id(function) in getattr(rules, name)():
                return True
            if id(function) in getattr(rules, name).function_ids:
                return True
    return False

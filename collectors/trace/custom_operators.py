"""Operators that a program registers with torch.library from Python: what there is of them to be
written down again.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Optional

import torch

from ..protocol.program_source import Reference


def find_definition(value: Any) -> Any:
    """The `CustomOpDef` of an operator, given as that, as a packet or as an overload; None for all
    others.
    """
    module = sys.modules.get("torch._library.custom_ops")  # since torch 2.4
    known = getattr(module, "OPDEFS", None)
    if known is None:
        return None
    if isinstance(value, getattr(module, "CustomOpDef", ())):
        return value
    if isinstance(value, torch._ops.OpOverloadPacket):
        return known.get(value._qualified_op_name)
    return known.get(value._schema.name) if isinstance(value, torch._ops.OpOverload) else None


_ARGUMENT = re.compile(r"(?P<type>[^ ]+) (?P<name>\w+)(?:=(?P<default>[^\"']*))?")


def build_operator_reference(found: Any, ref: Callable[[Any], Reference]) -> Optional[Reference]:
    """An operator as data: its functions as references, the types of its arguments and results in
    torch's notation.

    Args:
        found: what `torch.library.custom_op` has made, of `torch/_library/custom_ops.py`.
        ref: gives the reference to a function.

    Returns:
        None where it has more than that, such as a kernel for one device alone or a text as a
        default.
    """
    if set(found._backend_fns) - {None} or getattr(found, "_vmap_fn", None) is not None:
        return None
    given, _, returned = found._schema.partition(" -> ")
    parts = [part for part in given.strip("()").split(", ") if part]
    arguments = [_ARGUMENT.fullmatch(part) for part in parts if part != "*"]
    if not given.startswith("(") or any(item is None for item in arguments):
        return None

    def refer(attribute: str) -> Optional[Reference]:
        value = getattr(found, attribute, None)
        return ref(value) if value is not None else None

    return {
        "kind": "operator",
        "function": ref(found._init_fn),
        "arguments": [(item["type"], item["default"]) for item in arguments if item is not None],
        "keywords": parts.index("*") if "*" in parts else len(arguments),
        "returns": returned,
        "fake": refer("_abstract_fn"),
        "backward": refer("_backward_fn"),
        "setup": refer("_setup_context_fn"),
    }

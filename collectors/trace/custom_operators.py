"""Operators that a program registers with torch.library from Python: what there is of them to be
written down again.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from types import FunctionType, ModuleType
from typing import Any, Callable, Dict, Optional, Union

import torch

from ..protocol.program_source import Reference

#: The kernels that `torch.library.Library.impl` was given, by operator and dispatch key.
_KERNELS: Dict[str, Dict[str, object]] = {}


def keep_kernels(library: ModuleType) -> None:
    """Keeps the kernels that a program registers from now on: torch hands them on to its dispatcher
    alone (`Library.impl` of `torch/library.py`, 2.0 to 2.15).

    Args:
        library: the module `torch.library`.
    """
    original = library.Library.impl

    @functools.wraps(original)
    def impl(
        self: torch.library.Library,
        op_name: Union[str, torch._ops.OpOverload],
        fn: object,
        dispatch_key: str = "",
        **kwargs: object,
    ) -> object:
        made: object = original(self, op_name, fn, dispatch_key, **kwargs)
        name = op_name if isinstance(op_name, str) else op_name._schema.name
        whole = name if "::" in name else "{}::{}".format(self.ns, name)
        _KERNELS.setdefault(whole, {})[dispatch_key or self.dispatch_key] = fn
        return made

    library.Library.impl = impl


class LibraryOperator:
    """An operator that was defined by `torch.library.Library`, with what `CustomOpDef` has of
    one.
    """

    _vmap_fn = _backward_fn = _setup_context_fn = None
    _backend_fns: Dict[object, object] = {}

    def __init__(self, schema: torch.FunctionSchema, kernel: object, fake: object) -> None:
        self._schema = str(schema)[len(schema.name) :]
        self._init_fn, self._abstract_fn = kernel, fake


def _find_library_operator(value: object) -> Optional[LibraryOperator]:
    """An operator without overloads that has one Python kernel, and perhaps one for fake tensors;
    what autograd does with it is not known here.
    """
    if isinstance(value, torch._ops.OpOverloadPacket):
        value = value.default if value.overloads() == ["default"] else None
    schema = value._schema if isinstance(value, torch._ops.OpOverload) else None
    if schema is None or schema.overload_name:
        return None
    kernels = dict(_KERNELS.get(schema.name, {}))
    # what `register_fake` is given reaches the dispatcher in a wrapper
    meta, fake = kernels.pop("Meta", None), _find_fake(schema.name)
    if len(kernels) != 1 or not kernels.keys() <= {"CPU", "CUDA", "CompositeExplicitAutograd"}:
        return None
    (kernel,) = kernels.values()
    return LibraryOperator(schema, kernel, fake or meta)


def _find_fake(name: str) -> object:
    """What `torch.library.register_fake` was given for an operator; it is `func` in a wrapper
    (`_check_pystubs_once` of `torch/library.py`, 2.4 to 2.15).
    """
    registry = getattr(sys.modules.get("torch._library.simple_registry"), "singleton", None)
    kernel = getattr(registry.find(name).fake_impl, "kernel", None) if registry else None
    found = getattr(kernel, "func", None)
    inner = inspect.getclosurevars(found).nonlocals if isinstance(found, FunctionType) else {}
    return inner["func"] if {"func", "qualname"} <= inner.keys() else found


def find_definition(value: Any) -> Any:
    """The `CustomOpDef` of an operator, given as that, as a packet or as an overload, or what
    stands for it; None for all others.
    """
    module = sys.modules.get("torch._library.custom_ops")  # since torch 2.4
    known = getattr(module, "OPDEFS", None)
    if known is None:
        return None
    if isinstance(value, getattr(module, "CustomOpDef", ())):
        return value
    name = None
    if isinstance(value, torch._ops.OpOverloadPacket):
        name = value._qualified_op_name
    elif isinstance(value, torch._ops.OpOverload):
        name = value._schema.name
    return known.get(name) or _find_library_operator(value)


_ARGUMENT = re.compile(r"(?P<type>[^ ]+) (?P<name>\w+)(?:=(?P<default>[^\"']*))?")


def build_operator_reference(found: Any, ref: Callable[[Any], Reference]) -> Optional[Reference]:
    """An operator as data: its functions as references, the types of its arguments and results in
    torch's notation.

    Args:
        found: what `torch.library.custom_op` has made, of `torch/_library/custom_ops.py`, or a
            `LibraryOperator`.
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

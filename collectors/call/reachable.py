"""What a call can reach: the tensors, and the objects with state that hold them, by stable labels.

The labels name the same tensor in every copy of the process, so that two runs can be compared.
"""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any, Dict, Iterator, List, Tuple

import torch


def _list_function_values(function: Any, depth: int) -> List[Tuple[str, Any]]:
    found: List[Tuple[str, Any]] = []
    code = getattr(function, "__code__", None)
    if code is None:
        return found
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):
            found.append((name, cell.cell_contents))
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.extend(constant.co_names)
    for name in names:
        if name in function.__globals__:
            found.append((name, function.__globals__[name]))
    for value in function.__defaults__ or ():
        found.append(("default", value))
    if depth > 0:
        for _, value in list(found):
            if isinstance(value, types.FunctionType) and not _is_library(value):
                found.extend(_list_function_values(value, depth - 1))
    return found


def _is_library(value: Any) -> bool:
    return str(getattr(value, "__module__", "") or "").split(".")[0] in (
        "torch",
        "numpy",
        "builtins",
    )


def is_plain(value: Any) -> bool:
    """Whether an object's attributes are the user's own state."""
    return hasattr(value, "__dict__") and not callable(value) and not _is_library(type(value))


def list_training_flags(function: Any) -> Tuple[bool, ...]:
    """The training flags of the modules behind a callable: a call in the other mode is another
    call.
    """
    return tuple(
        module.training
        for _, value in list_roots(function)
        if isinstance(value, torch.nn.Module)
        for module in value.modules()
    )


def list_roots(function: Any) -> List[Tuple[str, Any]]:
    """(label, object) of everything with state that a callable can reach: modules, tensors,
    containers.
    """
    found: List[Tuple[str, Any]] = []
    while isinstance(function, functools.partial):
        found.append(("partial", [*function.args, *function.keywords.values()]))
        function = function.func
    owner = getattr(function, "__self__", None)
    if isinstance(function, torch.nn.Module):
        found.append(("self", function))
    elif owner is not None and not isinstance(owner, types.ModuleType):
        found.append(("self", owner))
        found.extend(_list_function_values(getattr(function, "__func__", None), 2))
    else:
        found.extend(_list_function_values(function, 2))
    return found


#: Types whose attributes are never the program's state, in classes of the program's as well.
_WITHOUT_STATE = (str, bytes, int, float, type, types.ModuleType)


def find_tensors(value: Any, label: str = "", depth: int = 4) -> Iterator[Tuple[str, torch.Tensor]]:
    """(path, tensor) for each tensor inside nested containers, modules, optimizers and plain
    objects, in a stable order.

    Args:
        label: what each path begins with: `arg0` gives `arg0[1]['mask']`, `arg0.weight`.
        depth: how many containers and plain objects inside each other are looked into. Parameters
            and buffers of a module are found at any depth of modules.

    Returns:
        The tensors themselves, on any device, and not copies. One that is held twice comes twice.
    """
    if isinstance(value, torch.Tensor):
        yield label, value
    elif isinstance(value, torch.nn.Module):
        for name, held in (*value.named_parameters(), *value.named_buffers()):
            yield label + "." + name, held
    elif depth > 0 and isinstance(value, torch.optim.Optimizer):
        yield from find_tensors(value.param_groups, label + ".groups", depth)
        yield from find_tensors(list(value.state.values()), label + ".state", depth)
    elif depth > 0:
        for path, item in _list_items(value, label):
            yield from find_tensors(item, path, depth - 1)


def _list_items(value: Any, label: str) -> Iterator[Tuple[str, Any]]:
    """(path, item) for what a container or a plain object holds."""
    if isinstance(value, dict):
        for key in value:
            yield "{}[{!r}]".format(label, key), value[key]
    elif isinstance(value, (list, tuple, set, frozenset)):
        for index, element in enumerate(value):
            yield "{}[{}]".format(label, index), element
    elif is_plain(value) and not isinstance(value, _WITHOUT_STATE):
        for key in list(vars(value)):
            yield "{}.{}".format(label, key), vars(value)[key]


def name_reachable(
    function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Dict[str, torch.Tensor]:
    """What `find_reachable` finds, by names that people use: those of `named_parameters`, `arg0`,
    `kwarg_mask`.

    Args:
        function: what is called; None for the arguments alone.
    """
    found = find_reachable(function, args, kwargs)
    return {name[5:] if name.startswith("self.") else name: value for name, value in found.items()}


def find_reachable(
    function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Dict[str, torch.Tensor]:
    """Every tensor a call can read or write, by a stable label; the same tensor once.

    Args:
        function: what is called, not compiled; None for the arguments alone.

    Returns:
        Label -> the tensor itself, on any device and of any dtype. Labels begin with `arg0`,
        `kwarg_mask`, or, for what the function holds, `self` or the name of a variable.
    """
    found: Dict[str, torch.Tensor] = {}
    seen = set()
    sources = [("arg{}".format(i), value) for i, value in enumerate(args)]
    sources += [("kwarg_" + name, value) for name, value in kwargs.items()]
    for label, value in sources + list_roots(function):
        for path, tensor in find_tensors(value, label):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                found[path] = tensor
    return found

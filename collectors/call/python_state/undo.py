"""Puts back what a call can reach: cells, global names, attributes, slots and containers."""

from __future__ import annotations

import contextlib
import types
from typing import Any, Callable, Dict, List, Tuple

from .function_names import list_names
from .walk import CONTAINERS, Walk, list_slots


def build_undo_steps(
    function: Any,
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    contents: Callable[[Any], Callable[[], None]],
) -> List[Callable[[], None]]:
    """Steps that put back what a call can reach, as it is now.

    Args:
        contents: makes the step for one container.
    """
    steps: List[Callable[[], None]] = []
    walk = Walk(function, args, kwargs)
    for label, owner in list(walk.owners.items()):
        with contextlib.suppress(Exception):  # an object may refuse to be copied; the others do not
            if isinstance(owner, types.CellType):
                steps.append(_keep_cell(owner))
            elif isinstance(owner, CONTAINERS):
                steps.append(contents(owner))
            elif label in walk.state and isinstance(owner, types.FunctionType):
                steps.append(_keep_global_names(owner))
            elif label in walk.state:
                steps.append(_keep_attributes(owner))
    return steps


def _keep_cell(cell: Any) -> Callable[[], None]:
    try:
        kept = cell.cell_contents
    except ValueError:
        return lambda: None

    def restore() -> None:
        if cell.cell_contents is not kept:
            cell.cell_contents = kept

    return restore


def _keep_global_names(function: Any) -> Callable[[], None]:
    names = function.__globals__
    kept = {name: names[name] for name in set(list_names(function.__code__)) if name in names}

    def restore() -> None:
        for name, value in kept.items():
            if names.get(name) is not value:
                names[name] = value

    return restore


def _keep_attributes(owner: Any) -> Callable[[], None]:
    """For a class, or an object with slots or attributes; a dictionary is left as it is where
    nothing has changed, since guards look at its version.
    """
    kept = dict(getattr(owner, "__dict__", {}))
    held = {} if isinstance(owner, type) else _read_slots(owner)

    def restore() -> None:
        now = getattr(owner, "__dict__", {})
        for name in [name for name in now if name not in kept and not name.startswith("__")]:
            type.__delattr__(owner, name) if isinstance(owner, type) else now.pop(name)
        for name, value in kept.items():
            if name not in now or now[name] is not value:
                if isinstance(owner, type):
                    type.__setattr__(owner, name, value)
                else:
                    now[name] = value
        for name, value in held.items():
            object.__setattr__(owner, name, value)

    return restore


def _read_slots(owner: Any) -> Dict[str, Any]:
    found = {}
    for name in list_slots(type(owner)):
        with contextlib.suppress(AttributeError):
            found[name] = object.__getattribute__(owner, name)
    return found

"""Puts back what earlier calls change, so that replaying them leaves the state of the moment before
the call.

Replayed calls decide what is compiled and recompiled, but they also move batch statistics, caches
and counters. Tensors get their contents back in place, so that aliases and guards on identity hold.
"""

from __future__ import annotations

import collections
import contextlib
import functools
from typing import Any, Callable, Dict, Iterator, List, Set

import torch

from ..machine.random_state import RandomState
from . import outputs
from .python_state.undo import build_undo_steps
from .reachable import find_reachable, is_plain, list_roots

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, dict, set, collections.deque)


@contextlib.contextmanager
def keep_state(call: Any) -> Iterator[None]:
    """What the body does to tensors, modules, plain objects and random numbers that the call
    reaches is undone.
    """
    undo = [_keep_tensors(call), RandomState.read().restore]
    seen: Set[int] = set()
    for _, value in list_roots(call.function):
        with contextlib.suppress(Exception):  # an object may refuse to be looked at
            undo += _keep_objects(value, 4, seen)
    undo += _keep_globals(call.function)
    undo += build_undo_steps(call.function, call.args, call.kwargs, _keep_contents)
    try:
        yield
    finally:
        for step in undo:
            with contextlib.suppress(Exception):  # an object may refuse to be written to
                step()


def _keep_tensors(call: Any) -> Callable[[], None]:
    state = find_reachable(call.function, call.args, call.kwargs)
    before = outputs.stamp_tensors(state)
    kept = {}
    for label, tensor in outputs.add_gradients(state).items():
        with contextlib.suppress(Exception):  # what cannot be copied cannot be put back either
            kept[label] = (tensor, tensor.detach().clone())
    grads = {label: tensor.grad for label, tensor in state.items() if tensor.is_leaf}

    def restore() -> None:
        for label, grad in grads.items():
            if state[label].grad is not grad:
                state[label].grad = grad
        moved = [
            label for label, stamp in outputs.stamp_tensors(state).items() if before[label] != stamp
        ]
        with torch.no_grad():
            for tensor, copy in (kept[label] for label in moved if label in kept):
                tensor.detach().copy_(copy)

    return restore


def _keep_objects(value: Any, depth: int, seen: Set[int]) -> List[Callable[[], None]]:
    """Steps that put back the attributes of modules and plain objects, and the contents of
    containers.
    """
    if depth <= 0 or id(value) in seen or isinstance(value, (*_PLAIN, torch.Tensor, type)):
        return []
    seen.add(id(value))
    steps: List[Callable[[], None]] = []
    if isinstance(value, torch.nn.Module):
        for module in value.modules():
            steps += _keep_attributes(module, depth, seen)
    elif isinstance(value, _CONTAINERS):
        steps.append(_keep_contents(value))
        for item in list(value.values()) if isinstance(value, dict) else list(value):
            steps += _keep_objects(item, depth - 1, seen)
    elif isinstance(value, tuple):
        for item in value:
            steps += _keep_objects(item, depth - 1, seen)
    elif is_plain(value):
        steps += _keep_attributes(value, depth, seen)
    return steps


def _keep_attributes(owner: Any, depth: int, seen: Set[int]) -> List[Callable[[], None]]:
    attributes = vars(owner)
    seen.add(id(owner))
    steps = [_keep_contents(attributes)]
    for name, item in list(attributes.items()):
        if isinstance(item, _CONTAINERS) and name != "_modules":
            steps += _keep_objects(item, depth - 1, seen)
        elif not isinstance(owner, torch.nn.Module):
            steps += _keep_objects(item, depth - 1, seen)
    return steps


def _keep_contents(container: Any) -> Callable[[], None]:
    kept = container.copy()

    def restore() -> None:
        if isinstance(container, list):
            container[:] = kept
        elif isinstance(container, collections.deque):
            container.clear()
            container.extend(kept)
        elif (
            container != kept
            if isinstance(container, set)
            else not _have_same_items(container, kept)
        ):
            container.clear()
            container.update(kept)

    return restore


def _have_same_items(one: Dict[Any, Any], other: Dict[Any, Any]) -> bool:
    """Whether two dictionaries hold the same objects: writing to one that is unchanged would trip
    Dynamo's guards.
    """
    return list(one) == list(other) and all(one[key] is other[key] for key in one)


def _keep_globals(function: Any) -> List[Callable[[], None]]:
    """Steps that put back plain global variables that a function names."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code, names = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if code is None:
        return []
    kept = {
        name: names[name]
        for name in code.co_names
        if name in names and isinstance(names[name], _PLAIN)
    }
    return [lambda: names.update(kept)]

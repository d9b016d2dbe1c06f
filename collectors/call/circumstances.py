"""Eager mode at another time and in other memory, for a program that believes to be compiled.

What a program notes about its clock, about addresses or about being compiled is another thing in
each run; none of it is the compiler's fault. One eager run under changed circumstances tells what
depends on them.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import sys
import time
import types
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch

from .python_state import own_code
from .python_state.walk import Walk

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
#: Seconds that pass between two looks at a clock: long enough for whatever is done now and then.
_STEP = 10_000.0
_ASKING = ("is_compiling", "is_dynamo_compiling")


@contextlib.contextmanager
def change() -> Iterator[None]:
    """Runs the body with other clocks and addresses, and with `torch.compiler.is_compiling()`."""
    undo: List[Callable[[], None]] = []
    held = _take_memory()
    try:
        with contextlib.suppress(Exception):  # what cannot be replaced is left as it is
            undo += _replace(_make_other_clocks())
        with contextlib.suppress(Exception):  # as above
            undo += _say_compiling()
        yield
    finally:
        for step in reversed(undo):
            with contextlib.suppress(Exception):  # the program may have taken it away
                step()
        del held


@contextlib.contextmanager
def uncache(function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Iterator[None]:
    """Runs the body with every function under `functools.lru_cache` that a call can reach in the
    place of its cache, as Dynamo traces it (`WrapperUserFunctionVariable` of
    `torch/_dynamo/variables/functions.py`, 2.13.0).

    Args:
        function: what is called, not compiled.
        args: the call's; looked through, like `kwargs`, and not called.
    """
    undo: List[Callable[[], None]] = []
    for owner, name, bare in _list_caches(Walk(function, args, kwargs)):
        with contextlib.suppress(Exception):  # an owner may refuse to be written to
            undo.append(_set_field(owner, name, bare))
    try:
        yield
    finally:
        for step in reversed(undo):
            step()


def _list_caches(walk: Walk) -> Iterator[Tuple[Any, str, Any]]:
    """(owner, name, function) for each function with a cache: a dictionary of globals, a cell or
    an object holds it under that name, and the function without its cache can take its place.
    """
    for owner in list(walk.owners.values()):
        if isinstance(owner, types.CellType):
            with contextlib.suppress(ValueError):  # it is empty
                if _is_cached(owner.cell_contents):
                    yield owner, "cell_contents", owner.cell_contents.__wrapped__
        place = owner.__globals__ if isinstance(owner, types.FunctionType) else owner
        names = place if isinstance(place, dict) else getattr(place, "__dict__", {})
        for name, value in list(names.items()):
            inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if _is_cached(inner):
                bare: Any = inner.__wrapped__  # type: ignore[union-attr]
                yield place, name, bare if inner is value else type(value)(bare)


def _set_field(owner: Any, name: str, value: Any) -> Callable[[], None]:
    """Sets an item of a dictionary or an attribute, which has to be there; what sets it back."""
    if isinstance(owner, dict):
        setter, old = owner.__setitem__, owner[name]
    else:
        setter = functools.partial(setattr, owner)
        old = owner.cell_contents if name == "cell_contents" else vars(owner)[name]
    setter(name, value)
    return lambda: setter(name, old)


def _is_cached(value: Any) -> bool:
    return type(value) is functools._lru_cache_wrapper and callable(value.__wrapped__)


def _take_memory() -> List[Any]:
    """Objects of many sizes, so that what is made next lies elsewhere."""
    held: List[Any] = [torch.empty(0) for _ in range(256)]
    for size in range(1, 512):
        held.append(bytes(size))
        held.append([None] * (size % 64))
        held.append(dict.fromkeys(range(size % 16)))
    held += [object() for _ in range(512)]
    return held


def _make_other_clocks() -> List[Tuple[Any, Any]]:
    """(clock, clock that runs fast) for everything in Python that tells the time."""
    passed = [0.0]

    def speed_up(clock: Any, unit: float) -> Any:
        def read() -> Any:
            passed[0] += _STEP
            now = clock()
            return now + type(now)(passed[0] * unit)

        return read

    found = []
    for name in _CLOCKS:
        for suffix, unit in (("", 1.0), ("_ns", 1e9)):
            clock = getattr(time, name + suffix, None)
            if clock is not None:
                found.append((clock, speed_up(clock, unit)))
    now = speed_up(time.time, 1.0)

    class LaterDatetime(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.datetime.fromtimestamp(now(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return datetime.datetime.fromtimestamp(now())

        @classmethod
        def today(cls) -> Any:
            return datetime.datetime.fromtimestamp(now())

    class LaterDate(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return datetime.datetime.fromtimestamp(now() + 86400 * 40).date()

    return [*found, (datetime.datetime, LaterDatetime), (datetime.date, LaterDate)]


def _replace(pairs: List[Tuple[Any, Any]]) -> List[Callable[[], None]]:
    """Puts the others in place of what Python's modules and the program's own have; returns the
    steps back.
    """
    others = {id(one): other for one, other in pairs}
    undo: List[Callable[[], None]] = []

    def put(names: Dict[str, Any], name: str, value: Any) -> None:
        old = names[name]
        names[name] = value
        undo.append(lambda: names.__setitem__(name, old))

    for module in [sys.modules["time"], sys.modules["datetime"], *own_code.list_own_modules()]:
        names = vars(module)
        for name, value in list(names.items()):
            if id(value) in others:
                put(names, name, others[id(value)])
    return undo


def _say_compiling() -> List[Callable[[], None]]:
    """Lets every name of the functions that ask for it hear that the program is compiled: they get
    another body.
    """
    undo: List[Callable[[], None]] = []
    homes = [getattr(torch, "compiler", None), getattr(torch, "_dynamo", None)]
    homes += [sys.modules.get("torch._dynamo.external_utils"), getattr(torch, "_utils", None)]
    yes = (lambda: True).__code__

    def put(function: Any) -> None:
        old = function.__code__
        function.__code__ = yes
        undo.append(lambda: setattr(function, "__code__", old))

    for home in homes:
        for name in _ASKING:
            function = vars(home).get(name) if home is not None else None
            if isinstance(function, types.FunctionType) and function.__code__ is not yes:
                with contextlib.suppress(ValueError):  # it has other free variables
                    put(function)
    return undo

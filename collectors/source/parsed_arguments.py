"""What argparse has made of the command line.

A script may let go of it as soon as it has read it, and what a call needs is asked only when that
fails. So the plain values of an object that is gone are kept, as they were last; never the object,
on which a program may hang its models.
"""

from __future__ import annotations

import functools
import gc
import math
import sys
import threading
from types import ModuleType
from typing import Dict, List, Set

#: A program that parses more often reads commands of its own.
_MOST = 20
#: What stands for a value that is not kept.
_NOT_PLAIN = object()


def patch(argparse: ModuleType) -> None:
    """Has what `ArgumentParser` makes leave its plain values, from now on."""
    original = argparse.ArgumentParser.parse_known_args
    kind = argparse.Namespace
    parsing = threading.local()
    #: The ids of the objects that are there, and what the others have left.
    present: Set[int] = set()
    left: List[object] = []

    @functools.wraps(original)
    def parse_known_args(self: object, *args: object, **kwargs: object) -> object:
        if getattr(parsing, "inside", False):  # a subcommand: the whole gets its values
            return original(self, *args, **kwargs)
        parsing.inside = True
        try:
            made = original(self, *args, **kwargs)
        finally:
            parsing.inside = False
        if type(made[0]) is kind and len(present) + len(left) < _MOST:
            present.add(id(made[0]))
        return made

    def leave_values(self: object) -> None:
        if id(self) in present:
            present.remove(id(self))
            values = kind()  # found as a live object from now on
            for name, value in vars(self).items():
                vars(values)[name] = value if _is_plain(value) else _NOT_PLAIN
            left.append(values)

    argparse.ArgumentParser.parse_known_args = parse_known_args
    kind.__del__ = leave_values


def collect() -> Dict[str, str]:
    """What argparse has made of the command line, by the names of its options: Python's notation of
    each plain value; without an option that has several.
    """
    kind = getattr(sys.modules.get("argparse"), "Namespace", None)
    found: Dict[str, Set[str]] = {}
    for each in gc.get_objects() if kind is not None else ():
        if type(each) is kind:
            for name, value in list(vars(each).items()):
                found.setdefault(name, set()).add(repr(value) if _is_plain(value) else "")
    return {name: text for name, texts in found.items() for text in texts if texts == {text} - {""}}


def _is_plain(value: object) -> bool:
    """Whether Python's notation of a value is the value."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return all(type(each) in (bool, int, str) for each in value)
    is_number = type(value) is float and math.isfinite(value)  # not a subclass, such as NumPy's
    return is_number or value is None or type(value) in (bool, int, str)

"""Keeps what argparse makes of the command line: a script may let go of it as soon as it has read
it, and what a call needs is asked only when that fails.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import List

from . import hooks

#: A program that parses more often reads commands of its own.
_MOST = 20
_KEPT: List[object] = []


def keep() -> None:
    """Keeps the results of `ArgumentParser` from now on, which are found as live objects then."""
    hooks.call_when_imported("argparse", _patch)


def _patch(argparse: ModuleType) -> None:
    original = argparse.ArgumentParser.parse_known_args

    @functools.wraps(original)
    def parse_known_args(self: object, *args: object, **kwargs: object) -> object:
        known = len(_KEPT)
        made = original(self, *args, **kwargs)
        # those of subcommands, made meanwhile, are copied into the whole, which may change later
        del _KEPT[known:]
        if known < _MOST:
            _KEPT.append(made[0])
        return made

    argparse.ArgumentParser.parse_known_args = parse_known_args

"""Caches under `functools.lru_cache`, which keep a trace from seeing where a size comes from.

A library that caches what it computes from a shape (einops does) gives a traced call the plain
numbers of an earlier one.
"""

from __future__ import annotations

import functools
import gc


def empty_caches() -> None:
    """Empties each such cache of this process but torch's own. What a program keeps in one is made
    anew as well, so a trace with empty caches needs its own proof.
    """
    for value in gc.get_objects():
        if type(value) is functools._lru_cache_wrapper:
            module = str(getattr(value, "__module__", ""))
            if module.split(".")[0] != "torch":
                value.cache_clear()

"""The folder in which the tool's own environments lie, and what their interpreters are given.

In an environment of the tool's own nothing takes the place of what was installed there: a
`PYTHONPATH` of the user's is for the user's interpreters.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

RELEASES_VARIABLE = "BUGREPORT_RELEASES"
#: What makes Python import other packages than those of its environment.
_FOREIGN = ("PYTHONPATH", "PYTHONHOME")


def find_cache_folder() -> Path:
    """Where environments lie: `BUGREPORT_RELEASES`, else `releases` in the user's cache folder."""
    import platformdirs

    given = os.environ.get(RELEASES_VARIABLE)
    if given:
        return Path(given).expanduser().resolve()
    return platformdirs.user_cache_path("bugreport", appauthor=False) / "releases"


def choose_variables(python: Path, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of those `given` that a process of an interpreter gets."""
    is_own = find_cache_folder() in python.parents
    return {name: value for name, value in given.items() if not (is_own and name in _FOREIGN)}

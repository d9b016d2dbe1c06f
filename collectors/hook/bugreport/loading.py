"""The collectors, loaded by location under a private name; they never reach sys.path."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import sys
from typing import Any

_PACKAGE = "_bugreport_collectors"
#: Whether `bugreport create` runs this program: then it is watched already, and nothing here has
#: anything to do.
_WATCHED_ALREADY = _PACKAGE + ".record.watcher" in sys.modules


def load_attach() -> Any:
    """The module `entry.attachment` of the collectors; what is compiled from the first time on goes
    through its switch, unless the program is watched already.

    Raises:
        ImportError: the folder of `bugreport hook` is incomplete.
    """
    if _PACKAGE not in sys.modules:
        here = os.path.dirname(os.path.abspath(__file__))
        folder = os.path.dirname(os.path.dirname(here))
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        if spec is None or spec.loader is None:
            raise ImportError("the folder of `bugreport hook` is incomplete")
        module = importlib.util.module_from_spec(spec)
        sys.modules[_PACKAGE] = module
        spec.loader.exec_module(module)
    attach = importlib.import_module(_PACKAGE + ".entry.attachment")
    if not _WATCHED_ALREADY:
        attach.ensure_switch()
    return attach


def must_stand_aside() -> bool:
    """Whether to leave these calls alone: they are watched already, or this is a worker that runs
    the main program's file once more.
    """
    return (
        _WATCHED_ALREADY
        or load_attach().ensure_switch().active is not None
        or multiprocessing.parent_process() is not None
    )

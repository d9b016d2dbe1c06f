"""The ways a program is started: what follows is what `python`, Jupyter or torchrun would have done
with it.

Each runner makes `__main__`, `sys.argv` and `sys.path` what the program knows, and then is out of
the way.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import os
import sys
import types
from typing import Any, Callable, Dict, Optional, Union

from ..protocol.starting import RerunProgramSpec, WatchedProgramSpec
from ..protocol.words import StartKind
from . import notebook

_Spec = Union[WatchedProgramSpec, RerunProgramSpec]

#: Where the program is now, for people: the cell of a notebook. A test's name is found in the
#: environment.
_PLACE = {"now": ""}


class UnusableEntryPointError(Exception):
    """What was asked for cannot be started; the text is one sentence for the user."""


def find_origin() -> str:
    """The cell or the test that is running, or nothing."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    return _PLACE["now"] or test.rsplit(" (", 1)[0]


def run(spec: _Spec) -> Optional[BaseException]:
    """Runs the program that `spec["kind"]` and `sys.argv` name.

    Returns the exception that ended it if its traceback was shown already. Raises what ends it
    otherwise, and UnusableEntryPointError.
    """
    runners: Dict[StartKind, Callable[[_Spec], Optional[BaseException]]] = {
        "script": _run_script,
        "module": _run_module,
        "notebook": _run_notebook,
        "function": _run_function,
        "text": _run_text,
    }
    return runners[spec["kind"]](spec)


def _make_main(path: Optional[str]) -> types.ModuleType:
    module = types.ModuleType("__main__")
    if path is not None:
        module.__dict__["__file__"] = path
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    return module


def _set_first_path(folder: str, is_needed: bool = False) -> None:
    """Puts a folder in the place of this program's own, where Python has put that first; with `-P`
    or PYTHONSAFEPATH it has not, and does with a folder only if it `is_needed`.
    """
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
    elif is_needed:
        sys.path.insert(0, folder)


def _run_script(spec: _Spec) -> None:
    _set_first_path(os.path.dirname(os.path.realpath(sys.argv[0])))
    path = os.path.abspath(sys.argv[0])  # as since Python 3.9
    module = _make_main(path)
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _run_text(spec: _Spec) -> None:
    """A script that came over the standard input, whose name cannot be that of a file."""
    name = os.path.join(os.getcwd(), "<stdin>")
    _set_first_path("")
    notebook.remember(name, spec["text"])
    exec(compile(spec["text"], name, "exec", dont_inherit=True), _make_main(None).__dict__)


def _run_module(spec: _Spec) -> None:
    import runpy

    _set_first_path(os.getcwd())
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _run_notebook(spec: _Spec) -> Optional[BaseException]:
    _set_first_path("")
    try:
        return notebook.run(sys.argv[0], spec["folder"], _note_cell)
    except notebook.NotebookError as error:
        raise UnusableEntryPointError("{}: {}".format(sys.argv[0], error)) from None


def _note_cell(cell: str) -> None:
    _PLACE["now"] = cell


def _run_function(spec: _Spec) -> None:
    """`module:function`, imported from the working directory and called without arguments."""
    name, _, attribute = sys.argv[0].partition(":")
    _set_first_path(os.getcwd(), is_needed=True)
    _make_main(None)
    found: Any = importlib.import_module(name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UnusableEntryPointError("the module {} has no {}".format(name, attribute))
        found = getattr(found, part)
    if not callable(found):
        raise UnusableEntryPointError(
            "{} is a {}, not a function".format(sys.argv[0], type(found).__name__)
        )
    _mind_arguments(sys.argv[0], found)
    result = found()
    if inspect.iscoroutine(result):
        import asyncio

        asyncio.run(result)


def _mind_arguments(name: str, function: Any) -> None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    required = [
        item.name
        for item in parameters
        if item.default is item.empty and item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    ]
    if required:
        raise UnusableEntryPointError(
            "{} needs the argument{} {}, and bugreport calls it without any; give defaults, or name"
            " a function that needs none".format(
                name, "s" * (len(required) > 1), ", ".join(required)
            )
        )

"""Runs the user's script as `python script.py` would, with the recorder waiting for torch.

This file is executed by location and loads its own package under a private name from its own folder, which never
reaches `sys.path`: the script's own `collectors.py`, `reporter/` or `templates/` stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import types
from typing import Any, Dict

PACKAGE = "_bugreport_collectors"


def load_package() -> None:
    """Makes this folder importable as `_bugreport_collectors` and nothing else."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def _run_script(path: str) -> None:
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    module = types.ModuleType("__main__")
    module.__dict__["__file__"] = path
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec")
    exec(code, module.__dict__)


def _run_module(name: str) -> None:
    import runpy

    sys.path[0] = os.getcwd()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def main() -> None:
    """`python bootstrap.py SPEC.json TARGET [ARGS…]`; TARGET is a script's path or a module's name."""
    with open(sys.argv[1]) as source:
        spec: Dict[str, Any] = json.load(source)
    load_package()
    channel_module = importlib.import_module(PACKAGE + ".channel")
    recorder_module = importlib.import_module(PACKAGE + ".recorder")
    hooks = importlib.import_module(PACKAGE + ".hooks")
    channel = channel_module.Channel(spec["socket"])
    channel.send({"role": "script", "pid": os.getpid()})
    recorder = recorder_module.Recorder(channel, spec)
    hooks.install(recorder)
    sys.argv = sys.argv[2:]
    ending: Dict[str, Any] = {"exit": 0, "exception": None}
    try:
        if spec.get("module"):
            _run_module(sys.argv[0])
        else:
            _run_script(sys.argv[0])
    except SystemExit as stop:
        code = stop.code
        ending["exit"] = code if isinstance(code, int) else (0 if code is None else 1)
        raise
    except BaseException as error:
        ending["exit"] = 1
        ending["exception"] = _account(error)
        _show(error)
        sys.exit(1)
    finally:
        recorder.finish(ending)


def _account(error: BaseException) -> Dict[str, Any]:
    """How the script itself ended: its exception, and whether torch or the script raised it."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    last = frames[-1] if frames else ""
    inside = any(os.sep + "torch" + os.sep in last for _ in (0,))
    answer: Dict[str, Any] = {"class": type(error).__name__, "raised_in_torch": inside}
    if "torch" in sys.modules:
        failure = importlib.import_module(PACKAGE + ".failure")
        answer["failure"] = failure.describe(error)
    else:
        answer["failure"] = {
            "exception": type(error).__name__,
            "message": str(error),
            "first_line": str(error),
        }
    return answer


def _show(error: BaseException) -> None:
    """The traceback as Python would print it, without this file's frames."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    if sys.excepthook is sys.__excepthook__:
        import traceback

        traceback.print_exception(type(error), error, trace)
    else:
        sys.excepthook(type(error), error, trace)


if __name__ == "__main__":
    main()

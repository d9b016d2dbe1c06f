"""Runs the user's program as it always runs (see `record.starting`), with the recorder waiting for
torch.

This file is executed by location and loads its own package under a private name from its own
folder, which never reaches `sys.path`: the script's own `collectors.py`, `reporter/` or
`templates/` stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:  # this file runs before its package can be imported
    from ..protocol import starting as messages

PACKAGE = "_bugreport_collectors"


def load_package() -> None:
    """Makes the collectors importable as `_bugreport_collectors` and nothing else."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main() -> None:
    """`python bootstrap.py SPEC.json TARGET [ARGS…]`; the spec's `kind` says what TARGET is."""
    with open(sys.argv[1]) as source:
        spec: Union[messages.WatchedProgramSpec, messages.RerunProgramSpec] = json.load(source)
    load_package()
    hooks = importlib.import_module(PACKAGE + ".record.hooks")
    starting = importlib.import_module(PACKAGE + ".record.starting")
    endings = importlib.import_module(PACKAGE + ".record.ending")
    recorder = _make_recorder(spec)
    hooks.install(recorder)
    hooks.keep_parsed_arguments()
    if "operators" in spec and "child" not in spec:
        hooks.install_operator_count(recorder, spec)
    elif "descriptor" not in spec:
        children = importlib.import_module(PACKAGE + ".record.children")
        children.number_children(os.path.abspath(sys.argv[1]), spec, recorder)
    sys.argv = sys.argv[2:]
    ending: messages.ProgramEnding = {"exit": 0, "exception": None}
    try:
        shown = starting.run(spec)
        if shown is not None:
            ending["exit"], ending["exception"] = 1, endings.describe_exception(shown)
            sys.exit(1)
    except SystemExit as stop:
        code = stop.code
        if ending["exception"] is None:
            ending["exit"] = int(code) if isinstance(code, int) else (0 if code is None else 1)
        if code is not None and not isinstance(code, int):  # Python says so before threads end
            print(code, file=sys.stderr)
            sys.exit(1)
        raise
    except starting.UnusableEntryPointError as error:
        ending["exit"], ending["unusable"] = 2, str(error)
        sys.exit(2)
    except BaseException as error:  # a script may raise anything
        ending["exit"] = 1
        ending["exception"] = endings.describe_exception(error)
        show(error)
        sys.exit(1)
    finally:
        endings.await_threads()
        # pytest-xdist's scheduler is imported only where tests run in other processes
        ending["other_processes"] = "xdist.dsession" in sys.modules
        used = os.times()
        ending["waited_for"] = used.children_user + used.children_system
        recorder.finish(ending)


def begin_child(path: str, number: int) -> messages.ProgramEnding:
    """What a process that the program spawns does first; `path` is the program's own spec, `number`
    counts its children.

    Returns:
        what is told when the process ends, for who knows how it does.
    """
    ending: messages.ProgramEnding = {"exit": 0, "exception": None}
    try:
        with open(path) as source:
            spec: messages.WatchedProgramSpec = json.load(source)
        if PACKAGE not in sys.modules:
            load_package()
        ending = importlib.import_module(PACKAGE + ".record.children").begin_child(spec, number)
    except (OSError, ValueError):  # the tool has gone: the program goes on unwatched
        pass
    return ending


def _make_recorder(spec: Union[messages.WatchedProgramSpec, messages.RerunProgramSpec]) -> Any:
    """What watches the calls; where the program is only run again up to one of them, what makes
    that call.
    """
    if "descriptor" in spec:
        return importlib.import_module(PACKAGE + ".record.rerun").Rerun(spec)
    if "child" in spec:
        return importlib.import_module(PACKAGE + ".record.children").Parent()
    channels = importlib.import_module(PACKAGE + ".record.channel")
    channels.Channel.key = spec.get("key", "")
    channel = channels.Channel(spec["socket"])
    greeting: messages.ScriptGreeting = {"role": "script", "pid": os.getpid()}
    channel.send(greeting)
    made = importlib.import_module(PACKAGE + ".record.recorder").Recorder(channel, spec)
    if "key" in spec:
        audit_hook = importlib.import_module(PACKAGE + ".record.audit_hook")
        audit_hook.install(channel, spec["folder"], spec["key"])
    return made


def show(error: BaseException) -> None:
    """The traceback as Python would print it, without our frames."""
    trace = error.__traceback__
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(own):
        trace = trace.tb_next
    error = error.with_traceback(trace)  # hooks print what the exception itself carries
    if sys.excepthook is sys.__excepthook__:
        import traceback

        traceback.print_exception(type(error), error, trace)
    else:
        sys.excepthook(type(error), error, trace)


if __name__ == "__main__":
    main()

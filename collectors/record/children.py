"""Processes that a program starts by `multiprocessing`, or that torchrun starts: which of them
compile anything, and one of them watched in the program's place.

A child reads the same spec as the program and gets a number, in the order of their starts.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import sys
import threading
from typing import Any, Callable, Dict, Optional, Tuple

from ..protocol.starting import (
    CHILD_COMPILED,
    CHILD_ENDED,
    ProgramEnding,
    RecorderSpec,
    ScriptGreeting,
)
from . import hooks
from .channel import Channel
from .ending import describe_exception
from .recorder import Recorder
from .watched_callable import WatchedCallable
from .watcher import CallWatcher

#: The module of torch by which torchrun starts each process.
_TORCHRUN = "torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler"
_ENTRY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "entry")


class FirstCompileWatcher(CallWatcher):
    """Stands in a recorder's place: leaves the file `path` at the first compiled call, which goes
    straight through.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self._is_left = False

    def call(
        self,
        watched: WatchedCallable,
        compiled: Callable[..., Any],
        args: Any,
        kwargs: Dict[str, Any],
    ) -> Any:
        """Makes one compiled call, and returns or raises what it does.

        Args:
            watched: not used here.
            compiled: what is called with `args` and `kwargs`.
        """
        if not self._is_left:
            self._is_left = True
            # the host and its folder may have gone
            with contextlib.suppress(OSError), open(self.path, "w"):
                pass
        return compiled(*args, **kwargs)

    def finish(self, ending: ProgramEnding) -> None:
        """What is marked does not depend on the end."""


class Parent(CallWatcher):
    """Stands in the recorder's place in a program of which a child is watched."""

    def __init__(self) -> None:
        super().__init__()
        self.watching = False

    def finish(self, ending: ProgramEnding) -> None:
        """The end that counts is the child's."""


def number_children(spec_path: str, spec: RecorderSpec, recorder: CallWatcher) -> None:
    """Arranges for each child that is started from now on to begin with `begin_child`, or with
    `_begin_fork` where it is a copy of this process, and for signals that end one to be noted.

    Args:
        spec_path: the file that a child reads; `spec` is what it holds.
        recorder: what the calls of this process go to.
    """
    numbers, folder = itertools.count(), spec["folder"]
    launching = threading.local()  # its `number` is that of the child that is being started
    hooks.call_when_imported(
        "multiprocessing.spawn", lambda spawn: _patch_preparation(spawn, spec_path, launching)
    )

    def take_number() -> Optional[int]:
        """The next number; none in a copy of this process, whose children are not counted."""
        return next(numbers) if os.getpid() == recorder.pid else None

    for name in ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver"):
        hooks.call_when_imported(
            name, lambda module: _patch_new_process(module.Popen, take_number, launching, folder)
        )
    hooks.call_when_imported(
        "multiprocessing.popen_fork",
        lambda module: _patch_fork(module.Popen, take_number, spec, recorder),
    )
    hooks.call_when_imported(
        _TORCHRUN, lambda module: _patch_launch(module, spec_path, numbers, folder)
    )


class _Beginning:
    """What is sent to a new process before the program's own objects, and calls `begin_child` as it
    is unpickled there.
    """

    def __init__(self, spec_path: str, number: int) -> None:
        bootstrap = os.path.join(_ENTRY, "bootstrap.py")
        self.code = "import runpy; runpy.run_path({!r})['begin_child']({!r}, {})".format(
            bootstrap, spec_path, number
        )

    def __reduce__(self) -> Tuple[Callable[..., Any], Tuple[str, Dict[str, Any]]]:
        return exec, (self.code, {})


def _patch_preparation(spawn: Any, spec_path: str, launching: threading.local) -> None:
    original = spawn.get_preparation_data

    def get_preparation_data(name: str) -> Dict[str, Any]:
        number = getattr(launching, "number", None)
        if number is None:  # a fork server asks before any process is started
            return dict(original(name))
        # `prepare` in the new process takes the names that it knows
        return {**original(name), "bugreport": _Beginning(spec_path, number)}

    spawn.get_preparation_data = get_preparation_data


def _patch_new_process(
    popen: Any,
    take_number: Callable[[], Optional[int]],
    launching: threading.local,
    folder: str,
) -> None:
    launch = popen._launch

    def launch_with_number(self: Any, process: Any) -> None:
        self.bugreport_number = launching.number = take_number()
        try:
            launch(self, process)
        finally:
            launching.number = None

    popen._launch = launch_with_number
    _note_deaths(popen, folder)


def _patch_fork(
    popen: Any,
    take_number: Callable[[], Optional[int]],
    spec: RecorderSpec,
    recorder: CallWatcher,
) -> None:
    launch = popen._launch

    def launch_with_number(self: Any, process: Any) -> None:
        self.bugreport_number = number = take_number()
        if number is None:
            launch(self, process)
            return
        bootstrap = process._bootstrap

        def begin(*args: Any, **kwargs: Any) -> Any:
            end, ending = _begin_fork(spec, number, recorder), follow_run(process)
            ending["exit"] = code = bootstrap(*args, **kwargs)
            end(ending)
            return code

        process._bootstrap = begin
        try:
            launch(self, process)
        finally:
            del process._bootstrap

    popen._launch = launch_with_number
    _note_deaths(popen, spec["folder"])


def _note_deaths(popen: Any, folder: str) -> None:
    """Has a class that waits for processes note the signals that end them."""
    poll = popen.__dict__.get("poll")
    if poll is None:  # it waits as its base does
        return

    def poll_and_note(self: Any, *args: Any, **kwargs: Any) -> Any:
        code = poll(self, *args, **kwargs)
        number = getattr(self, "bugreport_number", None)
        if number is not None:
            _note_end(folder, number, code)
        return code

    popen.poll = poll_and_note


def _patch_launch(module: Any, spec_path: str, numbers: itertools.count[int], folder: str) -> None:
    """torchrun starts `python -u [-m] TARGET` (torch/distributed/run.py: config_from_args)."""
    handler = module.SubprocessHandler
    start, end = handler._popen, handler.close
    entry = os.path.join(_ENTRY, "launched_main.py")

    def _popen(self: Any, args: Any, env: Any) -> Any:
        number, words = next(numbers), list(args)
        self.bugreport_number = number
        if sys.executable in words:  # what binds it to a core stands before it
            after = words.index(sys.executable) + 1
            after += words[after : after + 1] == ["-u"]
            words[after:after] = [entry, spec_path, str(number)]
        return start(self, tuple(words), env)

    def close(self: Any, *args: Any, **kwargs: Any) -> None:
        _note_end(folder, self.bugreport_number, self.proc.poll())
        end(self, *args, **kwargs)

    handler._popen, handler.close = _popen, close


def _note_end(folder: str, number: int, code: Optional[int]) -> None:
    """Leaves the number of the signal that ended a child."""
    if code is not None and code < 0:
        path = os.path.join(folder, CHILD_ENDED + str(number))
        with contextlib.suppress(OSError), open(path, "w") as file:  # as above
            file.write(str(-code))


def begin_child(spec: RecorderSpec, number: int) -> ProgramEnding:
    """Watches this process, if it is the one that the spec names; else notes whether it compiles
    anything.

    Returns:
        what is told when the process ends, for who knows how it does.
    """
    recorder = _make_recorder(spec, number)
    hooks.install(recorder)
    hooks.keep_parsed_arguments()
    _watch_operators(spec, number, recorder)
    hooks.call_when_imported(
        "multiprocessing.process", lambda process: _patch_bootstrap(process.BaseProcess, recorder)
    )
    ending: ProgramEnding = {"exit": 0, "exception": None}
    atexit.register(recorder.finish, ending)
    return ending


def _patch_bootstrap(base: Any, recorder: CallWatcher) -> None:
    """A process of a fork server ends without what is registered with `atexit`."""
    bootstrap = base._bootstrap

    def bootstrap_and_finish(self: Any, *args: Any, **kwargs: Any) -> Any:
        ending = follow_run(self)
        ending["exit"] = code = bootstrap(self, *args, **kwargs)
        recorder.finish(ending)
        return code

    base._bootstrap = bootstrap_and_finish


def follow_run(process: Any) -> ProgramEnding:
    """How the function that a process runs ends; its exception is known once that is over.

    Who hands an exception on to the parent ends the process by `sys.exit` in its handler
    (torch/multiprocessing/spawn.py).
    """
    run = process.run
    ending: ProgramEnding = {"exit": 0, "exception": None}

    def run_and_note() -> None:
        try:
            run()
        except BaseException as error:  # a program may raise anything
            raised: Optional[BaseException] = error
            if isinstance(error, SystemExit):
                raised = error.__context__ if error.code else None
            if raised is not None:
                ending["exception"] = describe_exception(raised)
            raise

    process.run = run_and_note
    return ending


def _begin_fork(
    spec: RecorderSpec, number: int, recorder: CallWatcher
) -> Callable[[ProgramEnding], None]:
    """As `begin_child` in a process that was forked, where the hooks hand calls to its parent's
    `recorder`. Returns what is to be told how the process ends.
    """
    recorder.in_fork = _make_recorder(spec, number)
    _watch_operators(spec, number, recorder.in_fork)
    return recorder.in_fork.finish


def _watch_operators(spec: RecorderSpec, number: int, recorder: CallWatcher) -> None:
    if "operators" in spec and spec.get("child") == number:
        hooks.install_operator_count(recorder, spec)
    elif spec.get("sharded") or "alone" in spec:
        hooks.install_part(spec)


def _make_recorder(spec: RecorderSpec, number: int) -> CallWatcher:
    if spec.get("child") != number:
        return FirstCompileWatcher(os.path.join(spec["folder"], CHILD_COMPILED + str(number)))
    channel = Channel(spec["socket"])
    greeting: ScriptGreeting = {"role": "script", "pid": os.getpid()}
    channel.send(greeting)
    return Recorder(channel, spec)

"""A program that runs already asks for a report itself: it starts the tool, and from then on is
watched like a script.

The compiled callables of such a program go through a `RecorderSwitch`, which hands their calls to
the recorder of the moment, if there is one. The tool is another process, found by
`BUGREPORT_COMMAND`, on PATH, or beside this file.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from ..protocol.starting import ProgramEnding, RecorderSpec, ScriptGreeting
from ..protocol.words import WatchMode
from ..record import ending, hooks
from ..record.channel import Channel
from ..record.recorder import Recorder
from ..record.watched_callable import WatchedCallable
from ..record.watcher import CallHandler

_START_SECONDS = 60.0


class ToolMissingError(RuntimeError):
    """The tool cannot be found or does not start; the text says what to do."""


class RecorderSwitch:
    """What hooked callables see in place of a recorder; without an active one their calls go
    straight through.
    """

    def __init__(self) -> None:
        self.compiles = 0
        self.active: Optional[CallHandler] = None

    def call(
        self,
        watched: WatchedCallable,
        compiled: Callable[..., Any],
        args: Any,
        kwargs: Dict[str, Any],
    ) -> Any:
        """Makes one call of a compiled callable, and returns or raises what it does.

        Args:
            watched: what is known of the callable.
            compiled: the callable itself.
            args: what it is called with, as the program gives it; so are `kwargs`.
        """
        active = self.active
        if active is None:
            return compiled(*args, **kwargs)
        return active.call(watched, compiled, args, kwargs)

    def note_leak(self) -> None:
        """Has the active recorder count an export that left tensors without values."""
        if self.active is not None:
            self.active.note_leak()

    def note_added_outputs(self, count: int) -> None:
        """Has the active recorder count outputs that decomposing has added."""
        if self.active is not None:
            self.active.note_added_outputs(count)


_SWITCHES: List[RecorderSwitch] = []


def ensure_switch() -> RecorderSwitch:
    """The one switch of this process; torch.compile is hooked when it is first asked for."""
    if not _SWITCHES:
        _SWITCHES.append(RecorderSwitch())
        hooks.install(_SWITCHES[0])
    return _SWITCHES[0]


def find_tool() -> List[str]:
    """The command that starts the tool.

    Raises:
        ToolMissingError: there is none on PATH, and BUGREPORT_COMMAND names none.
    """
    named = os.environ.get("BUGREPORT_COMMAND")
    if named:
        return shlex.split(named)
    found = shutil.which("bugreport")
    if found:
        return [found]
    folder = os.path.dirname(os.path.abspath(__file__))
    while folder != os.path.dirname(
        folder
    ):  # installed beside it: …/bin/bugreport, …/lib/…/collectors
        folder = os.path.dirname(folder)
        beside = os.path.join(folder, "bin", "bugreport")
        if os.access(beside, os.X_OK) and not os.path.isdir(beside):
            return [beside]
    raise ToolMissingError(
        "the command `bugreport` is not on PATH; install it (pipx install torch-bugreport), or name"
        " it in BUGREPORT_COMMAND"
    )


def _make_short_folder() -> str:
    """A new folder whose path leaves room for the name of a socket, which has 103 bytes at most."""
    usual = tempfile.gettempdir()
    fits = len(os.fsencode(usual)) < 80 or not os.access("/tmp", os.W_OK)
    return tempfile.mkdtemp(prefix="br-", dir=usual if fits else "/tmp")


class Host:
    """The tool's process, and the working folder that it shares with this one."""

    def __init__(self, verb: str, options: Sequence[str], background: bool = False) -> None:
        command = find_tool()
        if background and shutil.which("nice"):
            command = ["nice", "-n", "10", *command]
        self.folder = _make_short_folder()
        self.link = os.path.join(self.folder, "h")
        os.mkdir(self.link, 0o700)
        self.log = os.path.join(self.folder, "log")
        self.document = os.path.join(self.folder, "document")
        self._shown = 0
        given = ["--attach", self.link, "--python", sys.executable, "--json", "--no-input"]
        with open(self.log, "w") as log, open(self.document, "w") as document:
            self.process = subprocess.Popen(
                [*command, verb, *given, *options],
                stdin=subprocess.DEVNULL,
                stdout=document,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the program, which passes it on
                env={k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
            )
        self._await_socket()

    @property
    def socket(self) -> str:
        """Where the tool listens."""
        return os.path.join(self.link, "s")

    def _await_socket(self) -> None:
        limit = time.time() + _START_SECONDS
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.time() > limit:
                self.process.kill()
                said = self.read_words().strip().splitlines() or ["it does not start"]
                self.remove()
                raise ToolMissingError(said[-1])
            time.sleep(0.01)

    def read_words(self) -> str:
        """What the tool has said since the last time."""
        with open(self.log, errors="replace") as log:
            log.seek(self._shown)
            text = log.read()
            self._shown = log.tell()
        return text

    def wait(self, say: Callable[[str], Any]) -> int:
        """Waits for the report, passing on what the tool says. Returns its exit code.

        Ctrl-C ends it first.
        """
        try:
            while self.process.poll() is None:
                say(self.read_words())
                time.sleep(0.1)
        except KeyboardInterrupt:
            self.stop()
            say(self.read_words())
            raise
        say(self.read_words())
        return int(self.process.returncode)

    def stop(self) -> None:
        """Interrupts the tool, which says how to go on."""
        import signal

        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def read_result(self) -> Dict[str, Any]:
        """The JSON document, empty if there is none."""
        try:
            with open(self.document) as source:
                return dict(json.load(source))
        except (OSError, ValueError):
            return {}

    def remove(self) -> None:
        """Removes the working files."""
        shutil.rmtree(self.folder, ignore_errors=True)


class WatchedRegion:
    """One region of the program that is watched: from `start` to `end`."""

    def __init__(
        self,
        host: Host,
        mode: WatchMode,
        check_first: Optional[int] = None,
        every: Optional[int] = None,
        patience: Optional[float] = None,
    ) -> None:
        """`check_first` and `every` are those of `RecorderSpec`; `patience` is in seconds,
        see `Channel`.
        """
        self.host = host
        channel = Channel(host.socket, patience)
        channel.send(_build_greeting(mode))
        spec: RecorderSpec = {
            "socket": host.socket,
            "folder": host.link,
            "cache": os.path.join(host.link, "cache"),
        }
        if check_first is not None:
            spec["check_first"] = check_first
        if every is not None:
            spec["every"] = every
        self.recorder = Recorder(channel, spec)

    def start(self) -> None:
        """From now on the calls of compiled callables are watched."""
        ensure_switch().active = self.recorder

    def end(self, error: Optional[BaseException] = None) -> None:
        """Ends the watching and tells the tool how the region ended."""
        ensure_switch().active = None
        told: ProgramEnding = {"exit": 0, "exception": None}
        if isinstance(error, SystemExit):
            code = error.code
            told["exit"] = int(code) if isinstance(code, int) else int(code is not None)
        elif error is not None:
            told = {"exit": 1, "exception": ending.describe_exception(error)}
        self.recorder.finish(told)


def _build_greeting(mode: WatchMode) -> ScriptGreeting:
    """With what the tool could not know of a program that it did not start."""
    torch = sys.modules.get("torch")
    return {
        "role": "script",
        "pid": os.getpid(),
        "mode": mode,
        "torch": str(getattr(torch, "__version__", "")),
        "python": platform.python_version(),
        "command": list(getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv]),
    }


class BackgroundWatch:
    """The watching of a long run: a tool in the background, a recorder with a stride, and a thread
    that waits for the end.
    """

    def __init__(
        self, options: Sequence[Any], every: int, with_output: Any, say: Callable[[str], None]
    ) -> None:
        if int(os.environ.get("WORLD_SIZE") or 1) > 1:
            raise RuntimeError("this is one of several processes of a group")
        words, self.folder = with_output("create", options)
        if not any(word in ("-j", "--jobs") or word.startswith("--jobs=") for word in words):
            words = [*words, "--jobs", "1"]
        self.say = say
        self.pid = os.getpid()
        self.host = Host("create", words, background=True)
        self.run = WatchedRegion(self.host, "watch", every=every, patience=120.0)

    def start(self) -> None:
        """Starts watching; the program's end, or the first finding, ends it."""
        import atexit

        self.run.recorder.on_found = self._notify_found
        self.run.start()
        threading.Thread(target=self._wait, daemon=True, name="bugreport").start()
        atexit.register(self._end_with_program)

    def _notify_found(self) -> None:
        ensure_switch().active = None
        self.say(
            "a compiled call raises or differs from eager; the program goes on, and a report is"
            " made beside it: {} (log: {})".format(self.folder, self.host.log)
        )

    def _end_with_program(self) -> None:
        if os.getpid() == self.pid:
            try:
                self.run.end()
            except Exception as error:  # the program's end must stay its own
                self.say("{}".format(error))

    def _wait(self) -> None:
        code = self.host.process.wait()
        ensure_switch().active = None
        if code == 0:
            self.say("report: {}".format(self.folder))
        elif code != 1:
            said = self.host.read_words().strip().splitlines() or [
                "it ended with exit code {}".format(code)
            ]
            self.say("no report, {}".format(said[-1].replace("bugreport: ", "", 1)))
        self.host.remove()

"""One command in the sandbox, from start to the last child killed: whatever it does, the answer is
a `SandboxResult`.

What comes back is two streams of text and an exit code, all of it written by strangers: to be shown
through `reporter.tracker.plain_text`, parsed with suspicion, and never to be opened as files, since
no file leaves the sandbox.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from collectors.protocol.failure import name_signal
from reporter.core.errors import CannotJudgeError
from reporter.execution.launch import end_session
from reporter.sandbox import bubblewrap, watch
from reporter.sandbox.limits import Limits
from reporter.sandbox.view import View, build_interpreter_view, build_tool_view

Ending = Literal["exited", "signal", "timeout", "memory", "tasks", "disk", "cpu", "flood"]
_INTERVAL = 0.05
#: What runs now; a thread that waits for one cannot be ended, only what it waits for.
_RUNNING: set[subprocess.Popen[bytes]] = set()
_STOPPED: set[subprocess.Popen[bytes]] = set()
#: Runs last before the command. It says that the sandbox is set up by a byte on its standard input,
#: which the command does not have: what is printed from then on may be a stranger's.
_SIGN = (
    "sh",
    "-c",
    '[ -x "$(command -v "$1")" ] || { echo "$1 is not in it" >&2; exit 127; };'
    ' printf . >&0 && exec "$@" </dev/null',
    "sh",
)
_WORDS: dict[Ending, str] = {
    "timeout": "did not end within {0.seconds:g} seconds",
    "memory": "took more memory than the sandbox has ({0.memory} bytes)",
    "tasks": "started more processes and threads than the sandbox allows ({0.tasks})",
    "disk": "filled the sandbox's disk ({0.disk} bytes)",
    "cpu": "used more CPU time than the sandbox allows ({0.cpu:g} seconds)",
    "flood": "printed more than the sandbox allows ({0.flood} bytes)",
}


@dataclass(frozen=True)
class SandboxResult:
    """How a command ended.

    `ending` other than `exited` and `signal` is a limit, and then `exit` is None.

    `stdout` and `stderr` hold the first and the last `Limits.output` / 2 bytes, as they were
    written; use `reporter.tracker.plain_text` before showing them. `contained` is False where it
    ran without a sandbox.
    """

    ending: Ending
    exit: int | None
    signal: str | None
    stdout: str
    stderr: str
    seconds: float
    detail: str = ""
    contained: bool = True


@dataclass(frozen=True)
class SandboxContents:
    """What a sandbox shows inside, read-only.

    `view` has the interpreters; `texts` are files of the working folder by name; `folders` are
    other folders by their paths inside.
    """

    view: View = View()
    texts: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)


class Sandbox:
    """A command that is ready to run, once or more often; each run sees an empty home, temp and
    cache.

    `argv` alone can be handed to whoever starts processes in their own way; then the kernel's
    limits hold, wall time, memory of all processes and their number are the caller's to watch.
    bubblewrap dies with the *thread* that started it. `clock` tells the seconds that a run takes.
    """

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        contents: SandboxContents,
        variables: Mapping[str, str],
        trust: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.command = tuple(command)
        self.limits = limits
        self.contents = contents
        self.variables = variables
        self.trust = trust
        self.clock = clock
        self._directory = tempfile.TemporaryDirectory(prefix="bugreport-sandbox-")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the files that the sandbox was shown."""
        self._directory.cleanup()

    @property
    def argv(self) -> list[str]:
        """The whole command line; it holds no secrets, and the environment it sets is all there is.
        A byte on its standard input says that the sandbox is set up (`_SIGN`).

        Raises:
            CannotJudgeError: bubblewrap is missing or cannot work here.
        """
        bwrap = bubblewrap.find_bwrap()
        files = self._write(Path(self._directory.name))
        words = bubblewrap.build_arguments(
            bwrap, self.contents.view, files, self.contents.folders, self.limits, self.variables
        )
        return [*words, *_SIGN, *self.command]

    def run(self) -> SandboxResult:
        """Runs it to its end or to a limit; nothing of it is left alive.

        Raises:
            CannotJudgeError: it cannot be started or was stopped.
        """
        if self.trust:
            return self._run_openly()
        sign_read, sign_write = os.pipe()
        try:
            process = subprocess.Popen(
                self.argv,
                stdin=sign_write,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                start_new_session=True,
            )
        except OSError as error:
            os.close(sign_read)
            raise CannotJudgeError(f"bubblewrap cannot be started ({error})") from None
        finally:
            os.close(sign_write)
        with open(sign_read, "rb") as sign:
            result = self._attend(process, contained=True)
            _refuse_unless_started(sign, result.stderr)
        return result

    def _run_openly(self) -> SandboxResult:
        """The same command without a sandbox, for who has read the code; still with an environment
        and limits of its own.
        """
        with tempfile.TemporaryDirectory(prefix="bugreport-trusted-") as name:
            folder = Path(name).resolve()
            for part in ("home", "work", "cache"):
                (folder / part).mkdir()
            self._write(folder / "work")
            paths = {
                bubblewrap.HOME: str(folder / "home"),
                bubblewrap.WORK: str(folder / "work"),
                bubblewrap.CACHE: str(folder / "cache"),
                "/tmp": name,
                **{inside: str(path) for inside, path in self.contents.folders.items()},
            }
            known = {**bubblewrap.VARIABLES, **self.variables}
            prlimit = shutil.which("prlimit")
            limits = [prlimit, *self.limits.list_prlimit_options(), "--"] if prlimit else []
            process = subprocess.Popen(
                [*limits, *(_translate_outside(word, paths) for word in self.command)],
                cwd=folder / "work",
                env={key: _translate_outside(value, paths) for key, value in known.items()},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            return self._attend(process, contained=False)

    def _write(self, folder: Path) -> dict[str, Path]:
        files = {}
        for name, text in self.contents.texts.items():
            files[name] = folder / name
            files[name].write_text(text, encoding="utf-8", errors="surrogateescape")
            files[name].chmod(0o644)  # the user inside is not the one outside
        return files

    def _attend(self, process: subprocess.Popen[bytes], contained: bool) -> SandboxResult:
        assert process.stdout is not None and process.stderr is not None
        streams = [
            OutputReader(pipe, self.limits.output) for pipe in (process.stdout, process.stderr)
        ]
        started = self.clock()
        ending: Ending | None = None
        _RUNNING.add(process)
        try:
            ending = self._watch(process, streams, started)
        finally:
            end_session(process)
            _RUNNING.discard(process)
            for stream in streams:
                stream.join()
        if process in _STOPPED:
            _STOPPED.discard(process)
            raise CannotJudgeError("the run in the sandbox was stopped")
        seconds = round(self.clock() - started, 3)
        code = process.returncode
        if ending is None and code is not None:
            # bubblewrap tells of a signal as a shell does, by an exit code above 128
            number = -code if code < 0 else code - 128 if 128 < code < 160 else 0
            ending = "cpu" if number == signal.SIGXCPU else "signal" if number else "exited"
        assert ending is not None
        limited = ending not in ("exited", "signal")
        return SandboxResult(
            ending=ending,
            exit=None if limited else code,
            signal=name_signal(number) if ending == "signal" else None,
            stdout=streams[0].decode(),
            stderr=streams[1].decode(),
            seconds=seconds,
            detail=_WORDS[ending].format(self.limits) if limited else "",
            contained=contained,
        )

    def _watch(
        self, process: subprocess.Popen[bytes], streams: list[OutputReader], started: float
    ) -> Ending | None:
        """Waits for the end; the limit that was passed, if one was."""
        limits, pause = self.limits, _INTERVAL
        while True:
            try:
                process.wait(timeout=pause)
                return None
            except subprocess.TimeoutExpired:
                pass
            if self.clock() - started > limits.seconds:
                return "timeout"
            if any(stream.count > limits.flood for stream in streams):
                return "flood"
            before = time.monotonic()
            found = watch.measure_usage(process.pid)
            if found.tasks > limits.tasks:
                return "tasks"
            if (
                found.memory > limits.memory
                and watch.measure_proportional_memory(found.pids) > limits.memory
            ):
                return "memory"
            if watch.is_machine_full():
                return "memory"
            if found.pids and watch.is_disk_full(found.pids[-1], "/tmp"):
                return "disk"
            # looking costs more where more processes are; it stays below a tenth of the time
            pause = max(_INTERVAL, 9 * (time.monotonic() - before))


def _refuse_unless_started(sign: IO[bytes], stderr: str) -> None:
    """Refuses the result of a run in which the command was never started.

    Args:
        sign: has a byte if it was (`_SIGN`).
        stderr: then those of bubblewrap and of the programs that it starts first.

    Raises:
        CannotJudgeError: it was not.
    """
    os.set_blocking(sign.fileno(), False)  # what died of a limit may still hold the other end
    if not sign.read(1):
        said = stderr.strip().splitlines()
        raise CannotJudgeError(
            f"the sandbox cannot be set up ({said[-1] if said else 'bubblewrap said nothing'})"
        )


class OutputReader:
    """Reads a pipe to its end, in a thread; keeps the beginning and the end of what came, `keep`
    bytes in all.
    """

    def __init__(self, pipe: IO[bytes], keep: int) -> None:
        self.count = 0
        self._pipe = pipe
        self._half = max(1, keep // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._pipe.fileno(), 1 << 16):
                self.count += len(chunk)
                room = self._half - len(self._head)
                self._head += chunk[: max(0, room)]
                self._tail += chunk[max(0, room) :]
                if len(self._tail) > 2 * self._half:
                    del self._tail[: -self._half]
        except (OSError, ValueError):
            pass

    def join(self) -> None:
        """Waits for the end, and closes the pipe.

        Everything is dead, so the pipe has an end; a survivor of an open run may hold it.
        """
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._pipe.close()

    def decode(self) -> str:
        """What was kept, with a line in the place of what was not."""
        tail = bytes(self._tail[-self._half :])
        lost = self.count - len(self._head) - len(tail)
        note = f"\n[... {lost} bytes left out ...]\n".encode() if lost > 0 else b""
        return (bytes(self._head) + note + tail).decode(errors="replace")


def stop_all() -> None:
    """Kills everything that runs in a sandbox now; whoever waits for it gets CannotJudgeError at
    once, and no result.
    """
    for process in tuple(_RUNNING):
        _STOPPED.add(process)
        end_session(process)


def _translate_outside(word: str, paths: Mapping[str, str]) -> str:
    """A path of the sandbox, or a word that begins with one, as the path outside that stands for it
    without a sandbox.
    """
    for inside in sorted(paths, key=len, reverse=True):
        if word == inside or inside != "/tmp" and word.startswith(inside + "/"):
            return paths[inside] + word[len(inside) :]
    return word


def make_sandbox(
    command: Sequence[str],
    *,
    python: Path | Sequence[Path] = (),
    files: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    variables: Mapping[str, str] | None = None,
    folders: Mapping[str, Path] | None = None,
    with_tool: bool = False,
    trust: bool = False,
) -> Sandbox:
    """A command ready to run in the sandbox; its working folder holds `files` (name to text),
    read-only.

    Args:
        python: interpreters whose environments are shown inside, at the paths they have outside.
        variables: what to set beside those of `bubblewrap.VARIABLES`; none of our own gets in.
        folders: other folders to show read-only, by their paths inside.
        with_tool: show this program and its interpreter as well.
        trust: run it without a sandbox, since the user said so.

    Raises:
        CannotJudgeError: bubblewrap is missing or cannot work here, and `trust` was not given.
        UsageError: an interpreter cannot be asked what it needs.
    """
    if not trust:
        bubblewrap.find_bwrap()
    view = build_tool_view() if with_tool else View()
    for path in [python] if isinstance(python, Path) else python:
        view = view + build_interpreter_view(path)
    more = {"PYTHONPATH": ":".join(view.search)} if view.search else {}
    return Sandbox(
        command,
        limits or Limits(),
        SandboxContents(view, dict(files or {}), dict(folders or {})),
        {**more, **(variables or {})},
        trust,
    )

"""One run of the user's script, watched: which compiled call failed, and a call session for each
call worth a second look.

The script runs once, as always. What each watched call did is judged while the script waits
(`call_judge`), and becomes a `Finding` where it needs an explanation. Where nothing can be forked,
the script runs again up to that call instead (`rerun`).
"""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from collectors.protocol.calls import CallAnswer
from collectors.protocol.events import (
    BeginEvent,
    CallEvent,
    FinishedEvent,
    HostReply,
    ProgramEvent,
    UnsupportedEvent,
)
from collectors.protocol.failure import name_signal
from collectors.protocol.starting import (
    CHILD_COMPILED,
    CHILD_ENDED,
    ForkServerGreeting,
    RecorderSpec,
    ScriptGreeting,
)
from reporter.core.json_values import Json
from reporter.core.kinds import EXPORTERS, Symptom
from reporter.execution import launch
from reporter.execution.supervised_program import SupervisedProgram
from reporter.execution.usage import METER
from reporter.recording.call_judge import CallJudge
from reporter.recording.call_session import Connection, ForkedCallSession
from reporter.recording.call_sessions import CallSessions
from reporter.recording.findings import Finding, OriginalCall, Recording
from reporter.recording.rerun import ProgramRuns, RerunProgram
from reporter.recording.watching import RERUN_NOTES, WatchedProgram, WatchOptions

_MAX_FINDINGS = 4
#: So many times its limit a script may take that goes on showing signs of life.
_MOST_LIMITS = 4
#: Seconds in which a program that has let go of its connection is gone, if that was its end.
_LAST_MOMENTS = 1.0
#: The first calls of a callable that are looked at in any case, where each look means that the
#: program runs again.
_CHECKED_AGAIN = 2
_EVERY_CALL = 1 << 30


@dataclass
class _Peer:
    """A process of the program that has connected: the script, or the fork server of a call."""

    connection: Connection
    fork_server: ForkedCallSession | None = None


class RecordingSession:
    """Runs a program once and collects a `Recording`.

    `echo` gets what the program prints, `talk` what its user should know. `clock` is in seconds,
    for the script's own limit; its repetitions are timed by the process that makes them.

    Another kind of session overrides `choose_folder`, `greet`, `add_finding`, `reply` and `run`,
    which begins with `listen` and ends with `conclude`.
    """

    def __init__(
        self,
        program: WatchedProgram,
        watching: WatchOptions,
        echo: IO[bytes] | None = None,
        talk: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.program = program
        self.watching = watching
        self.timeout = watching.timeout
        self.longest = watching.longest or _MOST_LIMITS * watching.timeout
        self.clock = clock
        self.echo = echo
        self.talk = talk
        self.recording = Recording(self.choose_folder())
        self.runs = self._build_runs() if watching.isolation == "rerun" else None
        self._judging = 0.0
        self._is_judging = False
        self._alive = clock()
        self._process: SupervisedProgram | None = None
        self._key = secrets.token_hex(16) if watching.guarded else ""
        self.call_sessions = CallSessions(
            self.recording.folder, self.runs.open_call_session if self.runs else None
        )
        self.begun: dict[int, BeginEvent] = {}
        self.took: dict[int, float] = {}
        self._judge = CallJudge(
            self.recording, self.call_sessions, watching, self.begun, self.add_finding, self.reply
        )
        self.open_call: int | None = None
        self.open_since = 0.0
        self.finished = threading.Event()
        self._script: Connection | None = None
        self._lock = threading.RLock()
        self._log = bytearray()

    def choose_folder(self) -> Path:
        """Where the socket and the working files are; its path has to be short."""
        return Path(tempfile.mkdtemp(prefix="br-"))

    def _rerun_program(self) -> RerunProgram:
        # where the tool itself is run by a test, that test is not the program's
        given, unset = self.program, {"PYTEST_CURRENT_TEST": ""}
        variables = launch.build_variables(given.cache) | unset | dict(given.variables)
        return RerunProgram(given.python, given.command, given.cwd, variables, given.entry)

    def _build_runs(self) -> ProgramRuns:
        folder, at_once = self.recording.folder, self.watching.reruns
        program, cache = self._rerun_program(), self.program.cache
        return ProgramRuns(program, folder, cache, at_once, self.longest)

    def listen(self) -> socket.socket:
        """The server at the socket `s` of the folder, which answers as soon as it can be seen
        there.
        """
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        bound = self.recording.folder / "b"  # bound sockets refuse until they listen
        server.bind(str(bound))
        server.listen(64)
        bound.rename(self.recording.folder / "s")
        threading.Thread(target=self._accept, args=(server,), daemon=True).start()
        return server

    def run(self) -> Recording:
        """Runs the script to its end (or to `timeout`) and returns what was seen."""
        server = self.listen()
        spec = self.recording.folder / "spec.json"
        folder = str(self.recording.folder)
        facts: RecorderSpec = {"socket": f"{folder}/s", "folder": folder}
        if self.runs:
            facts["isolation"] = "rerun"
            facts["check_first"] = _CHECKED_AGAIN
        if self.watching.operators is not None:
            self.watching.operators.tell(facts)
        if self.watching.child is not None:
            facts["child"] = self.watching.child
        if self.watching.backend is not None:
            facts["backend"] = self.watching.backend
        if self.watching.without_added_outputs:
            facts["without_added_outputs"] = True
        if self._key:
            facts["key"] = self._key
        if self.watching.every_call:
            facts["check_first"] = _EVERY_CALL
        started = self._alive = self.clock()
        process = self._process = self._rerun_program().start(
            spec, facts, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        pump = threading.Thread(target=self._pump, args=(process.stdout,), daemon=True)
        pump.start()
        try:
            self._wait(process, started)
        except BaseException:
            process.end()
            self.recording.close()
            raise
        finally:
            server.close()
        pump.join(timeout=2)
        self.finished.wait(timeout=2)
        self.recording.script.seconds = self.clock() - started
        self.recording.script.output = bytes(self._log).decode(errors="replace")
        self.recording.script.parent_ended_by = process.lost
        stopped = self.recording.script.stopped or process.lost is not None
        self.recording.script.ended = None if stopped else process.returncode
        self.conclude(process.returncode if process.lost is None else None)
        return self.recording

    def _wait(self, process: SupervisedProgram, started: float) -> None:
        while process.poll() is None:
            try:
                process.wait(timeout=0.25)
            except subprocess.TimeoutExpired:
                pass
            if self.recording.unsupported in RERUN_NOTES:
                process.end()  # it has to be run again in another way
                return
            now = self.clock()
            stuck = self.open_call is not None and now - self.open_since > self.timeout
            silent = not self._is_judging and now - self._alive > self.timeout
            if stuck or silent or now - started - self._judging > self.longest:
                with self._lock:
                    call = self.open_call
                process.end()
                if call is not None:
                    self.add_finding(call, Symptom.HANG)
                else:
                    self.recording.script.stopped = True
                    self.talk(f"the script was stopped after {now - started:.0f} s (--timeout)")
                return

    def _pump(self, stream: IO[bytes]) -> None:
        while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]
            self._alive = self.clock()
            if len(self._log) < 1 << 22:
                self._log += chunk
            if self.echo is not None:
                try:
                    self.echo.write(chunk)
                    self.echo.flush()
                except (OSError, ValueError):
                    self.echo = None

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer: socket.socket) -> None:
        """Takes what one process of the program sends over `peer`, until the connection ends."""
        process = _Peer(Connection(peer, lambda: self._note_close(process)))
        process.connection.read(lambda message: self._receive(process, message))

    def _note_close(self, process: _Peer) -> None:
        if process.fork_server is not None:
            process.fork_server.detach()
        if self._script is process.connection and self._has_ended():
            self.finished.set()

    def _receive(self, process: _Peer, message: object) -> None:
        """After what cannot be a message of the recorder the program goes on unwatched."""
        try:
            self._handle_message(process, cast(Json, message))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._note_reach("the recorder's own messages")
            said = f"a message of the script's recorder cannot be read ({type(error).__name__})"
            self.talk(said)
            raise ValueError(said) from error

    def _handle_message(self, process: _Peer, message: Json) -> None:
        if self._key and message.pop("key", None) != self._key:
            self._note_reach("the recorder's own messages")
        elif message.get("role") == "script":
            if self._key and self._script is not None:
                self._note_reach("the recorder's connection")
            self._script = process.connection
            self._alive = self.clock()
            self.greet(cast(ScriptGreeting, message))
        elif message.get("role") == "fork_server":
            greeting = cast(ForkServerGreeting, message)
            process.fork_server = self._attach(greeting, process.connection)
        elif "answer" in message:
            if process.fork_server is None:
                raise ValueError("an answer of what is no fork server")
            process.fork_server.take_answer(cast(CallAnswer, message))
        else:
            self._take_event(cast(ProgramEvent, message))

    def _has_ended(self) -> bool:
        """Whether a program whose connection has ended has done so itself; one that has closed it
        connects again at its next call or its end.
        """
        if self._process is None:
            return True
        try:
            self._process.wait(timeout=_LAST_MOMENTS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _attach(self, greeting: ForkServerGreeting, connection: Connection) -> ForkedCallSession:
        call_session = self.call_sessions.open_call_session(greeting["call"])
        if not isinstance(call_session, ForkedCallSession):
            raise ValueError("a fork server where the program runs again instead")
        call_session.attach(connection, greeting["pid"])
        return call_session

    def greet(self, message: ScriptGreeting) -> None:
        """The program has connected, and says who it is."""

    def reply(self, answer: HostReply) -> None:
        """Answers the program, which waits, and tells it whether to watch on.

        Raises:
            ValueError: the program has sent an event before it said who it is.
        """
        if self._script is None:
            raise ValueError("an event of a program that has not greeted")
        symptoms = [finding.symptom for finding in self.recording.findings]
        enough = len(symptoms) - symptoms.count(Symptom.SUSPICIOUS) >= _MAX_FINDINGS
        fatal = Symptom.RAISED in symptoms or Symptom.DIED in symptoms
        told: HostReply = {"watch": not enough and not fatal, **answer}
        self._script.send(told)

    def _note_reach(self, what: str) -> None:
        if what not in self.recording.reached:
            self.recording.reached.append(what)

    def _take_event(self, message: ProgramEvent) -> None:
        match message["event"]:
            case "finished":
                self._finish(message)
            case "reached":
                self._note_reach(str(message["what"]))
            case "begin":
                self._begin(message)
            case "unsupported" if self._can_run_again(message):
                self._run_again()
            case _:
                self._judge_call(message)

    def _begin(self, message: BeginEvent) -> None:
        call = message["call"]
        self.begun[call] = message
        self.recording.counts.calls = max(self.recording.counts.calls, call + 1)
        self.recording.counts.exports |= message["options"].get("compiler") in EXPORTERS
        self.open_call, self.open_since = call, self.clock()
        if self.runs:
            self.runs.room = message["room"]
        self.call_sessions.begin(call, message["watched"])
        self._alive = self.clock()
        self.reply({})

    def _run_again(self) -> None:
        self.runs, self.recording.on_gpu = self._build_runs(), True
        self.call_sessions.session_of = self.runs.open_call_session
        self.talk(RERUN_NOTES["CUDA"])
        first = _EVERY_CALL if self.watching.every_call else _CHECKED_AGAIN
        self.reply({"isolation": "rerun", "check_first": first})

    def _judge_call(self, message: CallEvent) -> None:
        call, since = message["call"], self.clock()
        if self.open_call == call:
            self.took[call] = since - self.open_since
        self.open_call = None
        self._is_judging = True
        try:
            self._judge.judge(message)
        finally:
            self._alive, self._is_judging = self.clock(), False
        if self.runs:  # what the runs of it take is not the program's time
            self._judging += self.clock() - since

    def _can_run_again(self, message: UnsupportedEvent) -> bool:
        """Whether runs of the program can answer for its calls from now on: no call before this one
        was watched otherwise.
        """
        return message["reason"] == "CUDA" and self.watching.reruns > 0 and not self.begun

    def _finish(self, message: FinishedEvent) -> None:
        if self.finished.is_set() and self._key:
            self._note_reach("the recorder's own messages")
        METER.add(compilations=message["compilations"])
        recording = self.recording
        recording.counts.calls = message["calls"]
        recording.counts.compiles = message["compiles"]
        recording.counts.leaks = message.get("leaks") or 0
        recording.counts.added_outputs = message.get("added_outputs") or 0
        recording.script.overhead = message["overhead"]
        recording.script.exit = message["exit"]
        recording.script.exception = message["exception"]
        recording.counts.dynamo = message.get("dynamo")
        recording.script.unusable = message.get("unusable")
        recording.script.other_processes = bool(message.get("other_processes"))
        recording.script.waited_for = message.get("waited_for") or 0.0
        self.finished.set()

    def add_finding(self, call: int, symptom: Symptom, **details: Any) -> None:
        """Takes in that call `call` needs an explanation; `details` are fields of `Finding`."""
        begun = self.begun[call]
        finding = Finding(
            call=call,
            symptom=symptom,
            call_session=self.call_sessions.open_call_session(call),
            original=OriginalCall(
                options=begun["options"],
                context=begun["context"],
                replay=begun["history"] > 0,
                origin=begun["origin"],
                frames=tuple(begun["frames"]),
                seconds=self.took.get(call, 0.0),
            ),
            **details,
        )
        with self._lock:
            if not self.recording.add(finding):
                self.call_sessions.drop(call)

    def _find_ending_signal(self, code: int | None) -> int:
        """The number of the signal that ended what was watched; 0 for none. Who ends a child by
        SIGTERM is its parent.
        """
        if self.watching.child is None:
            return max(0, -(code or 0))
        told = self.recording.folder / f"{CHILD_ENDED}{self.watching.child}"
        number = int(told.read_text()) if told.exists() else 0
        return number if number not in (signal.SIGTERM, signal.SIGINT) else 0

    def conclude(self, code: int | None) -> None:
        """Adds what the end of the program shows, which came with the exit code `code`."""
        recording = self.recording
        recording.script.children = _list_children(recording.folder)
        if recording.script.exit is None or self.watching.child is not None:
            recording.script.exit = code
            call, ended_by = self.open_call, self._find_ending_signal(code)
            hung = any(f.symptom == Symptom.HANG for f in recording.findings)
            if call is not None and ended_by and not hung:
                self.add_finding(call, Symptom.DIED, signal=name_signal(ended_by))
        if self.runs:
            self.runs.note_end()
        kept = {finding.call for finding in recording.findings}
        recording.call_sessions, recording.last_calls = self.call_sessions.conclude(kept)


def _read_number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _list_children(folder: Path) -> tuple[int, ...]:
    """The numbers of the child processes that have compiled something (see
    `collectors.record.children`).
    """
    return tuple(sorted(_read_number(path) for path in folder.glob(f"{CHILD_COMPILED}*")))

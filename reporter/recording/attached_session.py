"""A recording of a program that nobody here started: it connects, is watched, and says when it has
ended.

Everything else is as for a script. What differs is that the program is not ours: it is never
killed, it may outlive the recording by days, and when it is gone without a word only its process
number tells.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from collectors.protocol.events import HostReply
from collectors.protocol.starting import ScriptGreeting
from collectors.protocol.words import WatchMode
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.kinds import Kind, Layer, Symptom
from reporter.recording.findings import Recording
from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions
from reporter.report.sections.report_document import Report
from reporter.report.sections.verdict import Verdict
from templates.text import pluralize

_CONNECT_SECONDS = 60.0


class AttachedSession(RecordingSession):
    """Serves one program that connects to the socket `s` in `folder`; it runs in `cwd`, and its
    calls may take `timeout` seconds each.
    """

    def __init__(self, folder: Path, cwd: Path, timeout: float) -> None:
        self._given = folder
        self.hello: ScriptGreeting | None = None
        program = WatchedProgram(Path(), (), cwd, folder / "cache")
        super().__init__(program, WatchOptions(timeout))
        self.call_sessions.keep_latest = False

    def choose_folder(self) -> Path:
        """The folder with the socket, as it was given."""
        return self._given

    def run(self) -> Recording:
        """Waits for the program, watches it to its end, and returns what was seen.

        Raises:
            CannotJudgeError: no program has connected.
        """
        started = self.clock()
        server = self.listen()
        try:
            while self.hello is None:
                if self.clock() - started > _CONNECT_SECONDS:
                    raise CannotJudgeError("no program has connected")
                time.sleep(0.01)
            while not self.finished.wait(timeout=0.25):
                if self._is_over():
                    break
        except BaseException:
            self.recording.close()
            raise
        finally:
            server.close()
        self.recording.script.seconds = self.clock() - started
        self.conclude(self.recording.script.exit)
        return self.recording

    def _is_over(self) -> bool:
        """Whether the program is gone, or stuck in a call for longer than one run may take."""
        call, since = self.open_call, self.open_since
        if call is not None and self.clock() - since > self.timeout:
            self.add_finding(call, Symptom.HANG)
            return True
        assert self.hello is not None
        try:
            os.kill(self.hello["pid"], 0)
        except ProcessLookupError:
            # how it died is not for a stranger to know; if it was the call, its repetitions will
            # show the same
            if call is not None and self.recording.script.exit is None:
                self.add_finding(call, Symptom.DIED)
            return True
        except PermissionError:
            pass
        return False

    def greet(self, message: ScriptGreeting) -> None:
        """Takes in that the program has connected, and why it is watched."""
        self.hello = message
        # the latest moment of each callable is asked about graph breaks, which only a whole block
        # can be worth
        self.call_sessions.keep_latest = message.get("mode") == "capture"

    @property
    def _only_findings(self) -> bool:
        """Whether a verdict is wanted only if something was found: tests and long runs."""
        return self.mode != "capture"

    @property
    def mode(self) -> WatchMode | None:
        """Why the program is watched; None before it has connected."""
        return self.hello.get("mode") if self.hello is not None else None

    def add_finding(self, call: int, symptom: Symptom, **details: Any) -> None:
        """Takes in that a call needs an explanation, but for a mere suspicion where only findings
        are wanted.
        """
        if self._only_findings and symptom == Symptom.SUSPICIOUS:
            self.call_sessions.drop(call)  # its moment is a copy of the program, too dear to keep
        else:
            super().add_finding(call, symptom, **details)

    def reply(self, answer: HostReply) -> None:
        """Answers the program; one that is watched for a single finding is left alone after it."""
        if self.mode == "watch" and self._has_found():
            super().reply({**answer, "watch": False, "found": True, "keep": False})
        else:
            super().reply(answer)

    def _has_found(self) -> bool:
        return any(finding.symptom != Symptom.SUSPICIOUS for finding in self.recording.findings)

    def report_nothing_found(self) -> Report | None:
        """The document of a run in which nothing was found and only findings were wanted; else
        None.

        Raises:
            CannotJudgeError: calls could not be compared at all.
        """
        recording = self.recording
        if not self._only_findings or self._has_found():
            return None
        if recording.unsupported:
            reason = {"CUDA": "it computes on CUDA", "ranks": "it is one of several ranks"}
            raise CannotJudgeError(
                f"the program's calls cannot be repeated in forks: {reason[recording.unsupported]}"
            )
        calls, compared = recording.counts.calls, recording.counts.compared
        made = pluralize(calls, "compiled call")
        summary = (
            f"{compared} of {made} {'was' if compared == 1 else 'were'} compared with eager;"
            " none differs."
        )
        verdict = Verdict(Kind.NOT_REPRODUCED, Layer.NONE, False, summary)
        assert self.hello is not None
        return Report(verdict, (), self.hello["torch"], self.hello["python"], "cpu")


def attach(folder: Path, cwd: Path, timeout: float) -> AttachedSession:
    """The recorded program that connects through `folder`, when it has ended or hangs.

    Args:
        folder: exists; the socket `s` is made in it.
        cwd: the folder that the program runs in.
        timeout: seconds that one of its calls may take before it counts as hanging.

    Raises:
        UsageError: there is no such folder.
        CannotJudgeError: no program has connected.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder} to connect through")
    session = AttachedSession(folder, cwd, timeout)
    session.run()
    return session

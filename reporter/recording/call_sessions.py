"""Which call sessions live how long: one per watched call, closed when its call needs no
explanation.

The call session of the latest watched call of each compiled callable stays until the recording is
closed, so that questions that come up at the script's end — why was it compiled again? — can still
be asked of the moment before that call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from reporter.recording.call_session import CallSession, ForkedCallSession

_MAX_LAST_CALLS = 4


@dataclass(frozen=True)
class LastCall:
    """The latest watched call of one compiled callable."""

    call: int
    call_session: CallSession


class CallSessions:
    """The call sessions of one run of a script, by call number."""

    def __init__(
        self, folder: Path, session_of: Callable[[int], CallSession] | None = None
    ) -> None:
        """`session_of`: what makes the call session of a call; without it, one that waits for the
        fork server of that call.
        """
        self.folder = folder
        self.session_of = session_of or (lambda call: ForkedCallSession(call, folder))
        self.keep_latest = True
        self._call_sessions: dict[int, CallSession] = {}
        self._latest: dict[int, int] = {}
        self._dropped: set[int] = set()
        self._lock = threading.RLock()

    def open_call_session(self, call: int) -> CallSession:
        """The call session of a call, made on first use: its fork server may connect before or
        after the call is announced.
        """
        with self._lock:
            if call not in self._call_sessions:
                self._call_sessions[call] = self.session_of(call)
            return self._call_sessions[call]

    def begin(self, call: int, watched: int) -> None:
        """A call of callable number `watched` begins; the one before it is no longer the latest."""
        with self._lock:
            self.open_call_session(call).prepare()
            if not self.keep_latest:
                return
            before = self._latest.get(watched)
            if before is not None or len(self._latest) < _MAX_LAST_CALLS:
                self._latest[watched] = call
            if before in self._dropped:
                self._close(before)

    def drop(self, call: int) -> None:
        """Nobody asks about this call any more, unless it is the latest of its callable."""
        with self._lock:
            self._dropped.add(call)
            if call not in self._latest.values():
                self._close(call)

    def _close(self, call: int) -> None:
        """Ends a call session, and takes its files: a long run would fill the disk with what
        agreed.
        """
        self.open_call_session(call).close()
        for pattern in (f"*-{call}.pt", f"child-{call}-*.log", f"answer-{call}-*.json"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    def conclude(self, needed: Collection[int]) -> tuple[list[CallSession], list[LastCall]]:
        """At the script's end: the call sessions that live on, and among them the last calls; the
        others are closed.

        Args:
            needed: numbers of calls that are still asked about.

        Returns:
            Both in the order of the calls.
        """
        with self._lock:
            latest = set(self._latest.values())
            for call, call_session in self._call_sessions.items():
                if call not in latest and call not in needed:
                    call_session.close()
            kept = [
                self._call_sessions[call]
                for call in sorted(self._call_sessions)
                if call in latest | {*needed}
            ]
            calls = [LastCall(call, self._call_sessions[call]) for call in sorted(latest)]
            return kept, calls

"""Which labs live how long: one per watched call, closed when its call needs no explanation.

The lab of the latest watched call of each compiled callable stays until the recording is closed, so
that questions that come up at the script's end — why was it compiled again? — can still be asked of
the moment before that call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reporter.recording.call_session import CallSession, ForkedCallSession, Json

_MAX_LAST_CALLS = 4


@dataclass(frozen=True)
class LastCall:
    """The latest watched call of one compiled callable; `options` are its torch.compile
    arguments.
    """

    call: int
    lab: CallSession
    options: Json


class ForkServers:
    """The labs of one run of a script, by call number."""

    def __init__(self, folder: Path, lab_of: Callable[[int], CallSession] | None = None) -> None:
        """`lab_of`: what makes the lab of a call; without it, one that waits for the standby of
        that call.
        """
        self.folder = folder
        self._lab_of = lab_of or (lambda call: ForkedCallSession(call, folder))
        self.keep_latest = True
        self._labs: dict[int, CallSession] = {}
        self._latest: dict[int, int] = {}
        self._dropped: set[int] = set()
        self._lock = threading.RLock()

    def lab(self, call: int) -> CallSession:
        """The lab of a call, made on first use: its standby may connect before or after the call is
        announced.
        """
        with self._lock:
            if call not in self._labs:
                self._labs[call] = self._lab_of(call)
            return self._labs[call]

    def begin(self, call: int, watched: int) -> None:
        """A call of callable number `watched` begins; the one before it is no longer the latest."""
        with self._lock:
            self.lab(call)
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
        """Ends a lab, and takes its files: a long run would fill the disk with what agreed."""
        self.lab(call).close()
        for pattern in (f"*-{call}.pt", f"child-{call}-*.log", f"answer-{call}-*.json"):
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    def conclude(
        self, needed: Collection[int], begun: Mapping[int, Mapping[str, Any]]
    ) -> tuple[list[CallSession], list[LastCall]]:
        """At the script's end: the labs that live on, and among them the last calls; the others are
        closed.
        """
        with self._lock:
            latest = set(self._latest.values())
            for call, lab in self._labs.items():
                if call not in latest and call not in needed:
                    lab.close()
            kept = [self._labs[call] for call in sorted(self._labs) if call in latest | {*needed}]
            calls = [
                LastCall(call, self._labs[call], dict(begun.get(call, {}).get("options") or {}))
                for call in sorted(latest)
            ]
            return list(kept), calls

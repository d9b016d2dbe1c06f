"""What hooked compiled callables go through: the recorder of a program, or what stands in its place
where the program is run again.

Neither imports torch here: the program does, after it has said by its environment variables how.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterator, Optional, Protocol, Set, Tuple

from ..protocol.starting import ProgramEnding
from .watched_callable import CompiledCall, WatchedCallable

#: Seconds that a call waits for another thread's: a compilation may take a minute.
#: Once one has waited in vain the threads may be waiting for each other, at every call.
_PATIENCE, _PATIENCE_AFTER = 60.0, 1.0


class CallHandler(Protocol):
    """What the hooks know of that which their calls go to; `compiles` counts what was compiled,
    exported or is watched for another reason.
    """

    compiles: int

    def call(
        self,
        watched: WatchedCallable,
        compiled: Callable[..., object],
        args: Tuple[object, ...],
        kwargs: Dict[str, object],
    ) -> object:
        """Makes one compiled call, and returns or raises what it does."""

    def note_leak(self) -> None:
        """Counts an export that left tensors without values in the program's module."""

    def note_added_outputs(self, count: int) -> None:
        """Counts outputs that decomposing has added to an exported program."""


def find_calling_module(depth: int) -> str:
    """The name of the module of a function on the stack of the calling one, which is number 0."""
    return str(sys._getframe(depth + 1).f_globals.get("__name__", ""))


class CallWatcher:
    """Hands the outermost compiled calls of this process to `watch`; what such a call compiles in
    its turn is part of it.

    `calls` counts what was handed over, `leaks` and `added_outputs` what `note_leak` and
    `note_added_outputs` are told, `disturbed` how often a call was made beside a watched one.
    `in_fork` takes the calls of a process that was forked from
    this one; without it they go straight through.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.local = threading.local()
        self._lock = threading.Lock()
        #: Threads that make a call beside a watched one.
        self._beside: Set[int] = set()
        self.calls = 0
        self.compiles = 0
        self.leaks = 0
        self.added_outputs = 0
        self.disturbed = 0
        self.watching = True
        self.in_fork: Optional[CallWatcher] = None

    def call(
        self,
        watched: WatchedCallable,
        compiled: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:
        """Makes one compiled call, and returns or raises what it does.

        Args:
            watched: what is known of the callable. Where the call is not watched, it is noted there
                that the earlier calls cannot be made again.
            compiled: the callable itself.
            args: what it is called with, as the program gives it; so are `kwargs`.
        """
        if os.getpid() != self.pid:
            if self.in_fork is not None:
                return self.in_fork.call(watched, compiled, args, kwargs)
            return compiled(*args, **kwargs)
        if getattr(self.local, "inside", False) or not self.watching:
            watched.earlier = None
            return compiled(*args, **kwargs)
        watched.start_watching(self)
        self.local.inside = True
        try:
            return self.watch(CompiledCall(watched, compiled, args, kwargs))
        finally:
            self.local.inside = False

    def note_leak(self) -> None:
        """Counts an export that left tensors without values in the program's module."""
        self.leaks += 1

    def note_added_outputs(self, count: int) -> None:
        """Counts outputs that decomposing has added to an exported program."""
        self.added_outputs += count

    @contextlib.contextmanager
    def take_turn(self) -> Iterator[bool]:
        """Waits until no other thread makes a watched call; whether a call can be watched now.

        It cannot where that one takes long, as it may wait for what this thread does, nor while a
        call is made that did not wait: what it holds, a copy of the process would wait for.
        """
        has_turn = self._lock.acquire(timeout=_PATIENCE_AFTER if self.disturbed else _PATIENCE)
        if not has_turn:
            self.disturbed += 1
            self._beside.add(threading.get_ident())
        try:
            yield has_turn and not self._beside
        finally:
            if has_turn:
                self._lock.release()
            else:
                self._beside.discard(threading.get_ident())

    def watch(self, call: CompiledCall) -> Any:
        """Makes one outermost call, with what is to be done about it before and after."""
        raise NotImplementedError

    def finish(self, ending: ProgramEnding) -> None:
        """The program has ended."""
        raise NotImplementedError

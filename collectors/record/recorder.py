"""Watches every outermost compiled call of the user's script without touching what the script sees.

Here is which calls are looked at, and what the host is told and answers; what is done with torch
about one call is for `watched_call`. Before a watched call the process is forked into a fork server
(see `fork_server`). After it the host is told how the call ended and answers whether to keep
watching; the eager reference runs in the fork server, never here. Gradients that flow into the
outputs are noted by hooks, so that both sides can be given the same ones later.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any, Callable, List, Optional

from ..call import failure
from ..dynamo import counters
from ..protocol.events import BeginEvent, CallEvent, FinishedEvent, HostReply
from ..protocol.starting import KEPT_FILE, ProgramEnding, RecorderSpec, ScriptGreeting
from ..protocol.words import UnsupportedReason
from . import starting
from .channel import Channel
from .watched_callable import CallShapes, CompiledCall, WatchedCallable, convert_options_to_json
from .watcher import CallWatcher

if TYPE_CHECKING:
    from .watched_call import OutputGradients, WatchedCall

_MAX_PENDING = 8


class Recorder(CallWatcher):
    """The hub of one script run.

    With `isolation` "rerun" in the `spec` nothing is forked: what a call can reach is kept, for a
    program that is run again (`rerun`).
    """

    def __init__(self, channel: Channel, spec: RecorderSpec) -> None:
        super().__init__()
        self.channel = channel
        self.spec = spec
        self.overhead = 0.0
        #: Calls whose outputs may still receive gradients.
        self.pending: List[OutputGradients] = []
        self.every = int(spec.get("every") or 0)
        self.finished = False
        #: Called once the host has a finding.
        self.on_found: Optional[Callable[[], None]] = None

    def ask(self, message: CallEvent) -> HostReply:
        """Sends an event and waits for the host's word; a vanished host means: carry on
        unwatched.
        """
        self._stay_connected()
        self.channel.send(message)
        answer: Optional[HostReply] = self.channel.receive()
        if answer is None:
            self.watching = False
            return {}
        self.watching = bool(answer.get("watch", self.watching))
        if self.every and not self.watching:
            # the host need not wait for the program's end
            self.finish({"exit": 0, "exception": None})
            if answer.get("found") and self.on_found is not None:
                self.on_found()
        return answer

    def _stay_connected(self) -> None:
        """A program may close every descriptor that it does not know, as services do; it stays
        watched.
        """
        if self.channel.reconnect():
            greeting: ScriptGreeting = {"role": "script", "pid": os.getpid()}
            self.channel.send(greeting)

    def watch(self, call: CompiledCall) -> Any:
        """Runs one outermost call, with a look at it if it is its turn."""
        if self.every and (call.watched.calls % self.every or self.pending):
            return self._pass(call)
        with self.take_turn() as has_turn:
            if not has_turn:
                return self._make(call)
            started, disturbed = time.time(), self.disturbed
            number, watched_call = self.calls, None
            self.calls += 1
            call.watched.calls += 1
            try:
                self._flush_gradients()
                watched_call = self._begin_call(call, number)
            except Exception as error:  # the script must not fail by being watched
                call.watched.earlier = None
                self._tell_unchecked(number, error)
            self.overhead += time.time() - started
            try:
                result = call.compiled(*call.args, **call.kwargs)
                if watched_call is not None and watched_call.checked:
                    watched_call.synchronize()
            except BaseException as error:
                try:
                    self._tell_raised(
                        number, error, watched_call is not None and watched_call.checked
                    )
                except Exception as problem:  # the script must not fail by being watched
                    self._tell_unchecked(number, problem)
                raise
            started = time.time()
            try:
                if watched_call is not None:
                    with watched_call.leave_modes():
                        self._tell_returned(watched_call, result, self.disturbed > disturbed)
            except Exception as error:  # as above
                self._tell_unchecked(number, error)
            self.overhead += time.time() - started
            return result

    def _is_worth_checking(self, watched: WatchedCallable, shapes: CallShapes) -> bool:
        """The first calls, every new shape, then ever fewer: a training loop must not run twice as
        long for ever.
        """
        count = watched.calls
        return bool(
            self.every
            or watched.is_export
            or count <= int(self.spec.get("check_first", 8))
            or watched.is_new(shapes)
            or count & (count - 1) == 0
        )

    def _pass(self, call: CompiledCall) -> Any:
        """A call whose turn it is not.

        If it raises, the moment after it is looked at instead of the one before.
        """
        number = self.calls
        if self.pending:
            self._settle()
        try:
            return self._make(call)
        except Exception as error:
            with self.take_turn() as has_turn:
                try:
                    if has_turn and self.watching and not self.pending:
                        watched_call = self._begin_call(call, number)
                        self._tell_raised(number, error, watched_call.checked)
                except Exception as problem:  # the script must not fail by being watched
                    self._tell_unchecked(number, problem)
            raise

    def _make(self, call: CompiledCall) -> object:
        """A call that is not looked at."""
        self.calls += 1
        call.watched.calls += 1
        call.watched.earlier = None
        return call.compiled(*call.args, **call.kwargs)

    def _settle(self) -> None:
        """Ends the waiting for gradients: a fork server that waits for some that never come holds
        memory for nothing.
        """
        with self.take_turn() as has_turn, contextlib.suppress(Exception):  # as above
            if not has_turn:
                return
            self._flush_gradients()
            for entry in self.pending:
                self.ask({"event": "forgotten", "call": entry.number})
            self.pending = []

    def _begin_call(self, call: CompiledCall, number: int) -> WatchedCall:
        """Looks at a call that is about to be made; it is `checked` if a copy waits to repeat
        it.
        """
        from . import watched_call  # it imports torch, as the program has by now

        return watched_call.begin(call, number, self._prepare)

    def _prepare(self, watched_call: WatchedCall) -> None:
        watched = watched_call.call.watched
        is_wanted = (
            self._is_worth_checking(watched, watched_call.shapes) and watched_call.can_start()
        )
        if is_wanted and not watched_call.is_transformed():
            self._begin(watched_call)
            if self.watching:
                watched_call.stamp()
        watched_call.note_earlier()

    def _tell_unchecked(self, number: int, error: Exception) -> None:
        """Tells the host that a call could not be looked at."""
        self.ask({"event": "unchecked", "call": number, "reason": type(error).__name__})

    def _begin(self, watched_call: WatchedCall) -> None:
        recorded = watched_call.record()
        obstacle = watched_call.find_obstacle(self._is_forked, "child" in self.spec)
        if obstacle is not None and not self._can_run_again(watched_call.number, obstacle):
            self.watching = False  # no answer is better than a wrong one
            return
        if not self._is_forked:
            watched_call.keep(
                recorded, os.path.join(self.spec["folder"], KEPT_FILE.format(watched_call.number))
            )
        watched = watched_call.call.watched
        begin: BeginEvent = {
            "event": "begin",
            "call": watched_call.number,
            "options": convert_options_to_json(watched.options),
            "context": watched_call.state,
            "watched": watched.number,
            "history": len(recorded.before.history),
            "origin": starting.find_origin(),
            "frames": watched_call.list_frames(),
            "room": watched_call.count_room(),
        }
        self.ask(begin)
        if self.watching and self._is_forked:
            watched_call.fork(recorded, self.spec)

    @property
    def _is_forked(self) -> bool:
        return self.spec.get("isolation") != "rerun"

    def _can_run_again(self, number: int, why: UnsupportedReason) -> bool:
        """Whether the host has a program that cannot be forked run again for each question, from
        this call on.
        """
        answer = self.ask({"event": "unsupported", "call": number, "reason": why})
        if "isolation" not in answer:
            return False
        self.spec["isolation"] = answer["isolation"]
        self.spec["check_first"] = answer["check_first"]
        return True

    def _tell_raised(self, number: int, error: BaseException, is_compared: bool) -> None:
        if failure.stops_recomputation(error):
            if is_compared:
                self.ask({"event": "forgotten", "call": number})
            return
        described = failure.describe(error)
        self.ask({"event": "raised", "call": number, "failure": described, "checked": is_compared})

    def _tell_returned(self, watched_call: WatchedCall, result: Any, was_disturbed: bool) -> None:
        """Hands over what a checked call left behind, and waits for its gradients if the host wants
        them. What another call has done meanwhile (`was_disturbed`) no copy could repeat.
        """
        watched_call.remember()
        if not watched_call.checked:
            return
        if was_disturbed:
            self.ask({"event": "forgotten", "call": watched_call.number})
            return
        if watched_call.call.watched.is_export:
            self.ask({"event": "made", "call": watched_call.number})
            return
        path = self._name_file("returned", watched_call.number)
        watched_call.save(result, path)
        leaves = watched_call.list_differentiable(result)
        answer = self.ask(
            {
                "event": "returned",
                "call": watched_call.number,
                "path": path,
                "differentiable": bool(leaves),
            }
        )
        if leaves and answer.get("keep"):
            self.pending = (self.pending + [watched_call.collect_gradients(leaves)])[-_MAX_PENDING:]

    def _flush_gradients(self) -> None:
        """Hands over the gradients noted so far; called before the next call and at the end of the
        script.
        """
        ready = [entry for entry in self.pending if entry.flows or entry.lost]
        self.pending = [entry for entry in self.pending if not (entry.flows or entry.lost)]
        for entry in ready:
            if not self.watching:
                return
            if entry.lost:
                self.ask({"event": "forgotten", "call": entry.number})
                continue
            path = self._name_file("flows", entry.number)
            entry.save(path)
            self.ask({"event": "gradients", "call": entry.number, "path": path})

    def _name_file(self, kind: str, number: int) -> str:
        return os.path.join(self.spec["folder"], "{}-{}.pt".format(kind, number))

    def finish(self, ending: ProgramEnding) -> None:
        """Tells the host how the script ended."""
        if os.getpid() != self.pid or self.finished:
            return
        self.finished = True
        started = time.time()
        try:
            with contextlib.suppress(Exception):  # the script must not fail by being watched
                self._flush_gradients()
        finally:
            self.watching = False
            self.overhead += time.time() - started
            finished: FinishedEvent = {
                "event": "finished",
                "calls": self.calls,
                "compiles": self.compiles,
                "leaks": self.leaks,
                "added_outputs": self.added_outputs,
                "overhead": round(self.overhead, 3),
                "dynamo": counters.count(),
                "compilations": counters.count_compilations(),
                **ending,
            }
            self._stay_connected()
            self.channel.send(finished)

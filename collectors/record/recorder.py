"""Watches every outermost compiled call of the user's script without touching what the script sees.

Before a watched call the process is forked into a fork server (see `standby`). After it the host is
told how the call ended and answers whether to keep watching; the eager reference runs in the
fork server, never here. Gradients that flow into the outputs are noted by hooks, so that both sides
can be given the same ones later.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, Callable, Dict, List, Literal, Optional, Tuple

from ..protocol import BeginEvent, CallEvent, FinishedEvent, HostReply, ProgramEnding, RecorderSpec
from .channel import Channel
from .watched import Seen, Watched, public_options, signature

_MAX_HISTORY = 8
_MAX_PENDING = 8


class _Pending:
    """A call whose outputs may still receive gradients."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.flows: Dict[int, Any] = {}


class Recorder:
    """The hub of one script run. `call` is what hooked compiled callables go through.

    With `isolation` "rerun" in the `spec` nothing is forked: what a call can reach is kept, for a
    program that is run again (`rerun`).
    """

    def __init__(self, channel: Channel, spec: RecorderSpec) -> None:
        self.channel = channel
        self.spec = spec
        self.pid = os.getpid()
        self.calls = 0
        self.watching = True
        self.overhead = 0.0
        self.pending: List[_Pending] = []
        self.local = threading.local()
        self.lock = threading.RLock()
        self.compiles = 0
        self.every = int(spec.get("every") or 0)
        self.standbys: List[int] = []
        self.finished = False
        self.found: Optional[Callable[[], None]] = None

    def ask(self, message: CallEvent) -> HostReply:
        """Sends an event and waits for the host's word; a vanished host means: carry on
        unwatched.
        """
        self.channel.send(message)
        answer: Optional[HostReply] = self.channel.receive()
        if answer is None:
            self.watching = False
            return {}
        self.watching = bool(answer.get("watch", self.watching))
        if self.every and not self.watching:
            self.finish(
                {"exit": 0, "exception": None}
            )  # the host need not wait for the program's end
            if answer.get("found") and self.found is not None:
                self.found()
        return answer

    def call(
        self,
        watched: Watched,
        compiled: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:
        """Runs one compiled call, watched if it is an outermost one of this process and worth a
        look.
        """
        if os.getpid() != self.pid or getattr(self.local, "inside", False) or not self.watching:
            return compiled(*args, **kwargs)
        watched.watched_by(self)
        self.local.inside = True
        try:
            if self.every and (watched.calls % self.every or self.pending):
                return self._passed(watched, compiled, args, kwargs)
            with self.lock:
                return self._watched_call(watched, compiled, args, kwargs)
        finally:
            self.local.inside = False

    def _worth_checking(self, watched: Watched, shapes: str) -> bool:
        """The first calls, every new shape, then ever fewer: a training loop must not run twice as
        long for ever.
        """
        count = watched.calls
        return bool(
            self.every
            or count <= int(self.spec.get("check_first", 8))
            or shapes not in watched.seen
            or count & (count - 1) == 0
        )

    def _passed(
        self,
        watched: Watched,
        compiled: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:
        """A call whose turn it is not.

        If it raises, the moment after it is looked at instead of the one before.
        """
        number = self.calls
        self.calls += 1
        watched.calls += 1
        if self.pending:
            self._settle()
        try:
            return compiled(*args, **kwargs)
        except Exception as error:
            with self.lock:
                try:
                    if self.watching and not self.pending:
                        seen = self._before(watched, compiled, args, kwargs, number)
                        self._raised(number, error, seen.check)
                except Exception as problem:  # the script must not fail by being watched
                    self._unchecked(number, problem)
            raise

    def _settle(self) -> None:
        """Ends the waiting for gradients: a fork server that waits for some that never come holds
        memory for nothing.
        """
        with self.lock, contextlib.suppress(Exception):
            self.flush_gradients()
            for entry in self.pending:
                self.ask({"event": "forgotten", "call": entry.number})
            self.pending = []

    def _watched_call(
        self,
        watched: Watched,
        compiled: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:

        started = time.time()
        number, seen = self.calls, None
        self.calls += 1
        watched.calls += 1
        try:
            self.flush_gradients()
            seen = self._before(watched, compiled, args, kwargs, number)
        except Exception as error:  # the script must not fail by being watched
            self._unchecked(number, error)
        self.overhead += time.time() - started
        try:
            result = compiled(*args, **kwargs)
            if seen is not None and seen.check:
                _settled()
        except BaseException as error:
            try:
                self._raised(number, error, seen is not None and seen.check)
            except Exception as problem:
                self._unchecked(number, problem)
            raise
        started = time.time()
        try:
            if seen is not None:
                self._after(watched, args, kwargs, number, result, seen)
        except Exception as error:  # as above
            self._unchecked(number, error)
        self.overhead += time.time() - started
        return result

    def _before(
        self,
        watched: Watched,
        compiled: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        number: int,
    ) -> Seen:
        """Forks the fork server if the call is worth it, and stamps what it can change."""
        from ..call import context, outputs, rungs
        from ..machine import environment

        state = context.capture()
        shapes = repr((signature((args, kwargs)), state, context.modes(watched.function)))
        check = self._worth_checking(watched, shapes)
        if check:
            call = rungs.RecordedCall(
                watched.function,
                compiled,
                args,
                kwargs,
                watched.options,
                list(watched.history),
                state,
                environment.changed_settings(),
            )
            self._begin(call, number, watched)
            check = self.watching
        reachable = context.reachable(watched.function, args, kwargs) if check else {}
        return Seen(check, shapes, reachable, outputs.stamps(reachable))

    def _after(
        self,
        watched: Watched,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        number: int,
        result: Any,
        seen: Seen,
    ) -> None:
        """Remembers the call for later replays, and hands over what it left behind."""
        from ..call import context, rungs

        if seen.shapes not in watched.seen:
            watched.seen.add(seen.shapes)
            watched.history = (watched.history + [(rungs.forget(args), rungs.forget(kwargs))])[
                -_MAX_HISTORY:
            ]
        if seen.check:
            after = context.reachable(watched.function, args, kwargs)
            self._returned(number, result, seen, after)

    def _unchecked(self, number: int, error: Exception) -> None:
        """Tells the host that a call could not be looked at."""
        self.ask({"event": "unchecked", "call": number, "reason": type(error).__name__})

    def _begin(self, call: Any, number: int, watched: Watched) -> None:
        from ..call import process_groups
        from ..call.forks import fork_from_fresh_thread
        from . import fork_server, starting

        again = self.spec.get("isolation") == "rerun"
        unsupported: Optional[Literal["CUDA", "ranks"]] = None
        if not again and _cuda_in_use():
            unsupported = "CUDA"
        elif (process_groups.world_size() or 1) > 1:
            unsupported = "ranks"
        if unsupported is not None:
            # a fork cannot use a device its parent has initialised, nor take another rank's part:
            # no answer is better than a wrong one
            self.ask({"event": "unsupported", "call": number, "reason": unsupported})
            self.watching = False
            return
        begin: BeginEvent = {
            "event": "begin",
            "call": number,
            "options": public_options(watched.options),
            "context": call.state,
            "watched": watched.number,
            "history": len(watched.history),
            "shapes": watched.calls,
            "place": starting.place(),
        }
        self.ask(begin)
        self._reap()
        if self.watching and again:
            from . import call_state

            call_state.keep(call, os.path.join(self.spec["folder"], "kept-{}.pt".format(number)))
        elif self.watching:
            server = fork_server.ForkServer(
                call, number, self.spec["socket"], self.spec["folder"], self.spec.get("cache", "")
            )
            self.standbys.append(fork_from_fresh_thread(server.serve))

    def _reap(self) -> None:
        """Takes leave of the fork servers that have ended: a long run must not collect dead
        processes.
        """
        for pid in list(self.standbys):
            try:
                ended = os.waitpid(pid, os.WNOHANG)[0] != 0
            except OSError:  # the program waits for all its children itself
                ended = True
            if ended:
                self.standbys.remove(pid)

    def _raised(self, number: int, error: BaseException, check: bool) -> None:
        from ..call import failure

        described = failure.describe(error)
        self.ask({"event": "raised", "call": number, "failure": described, "checked": check})

    def _returned(self, number: int, result: Any, seen: Seen, after: Dict[str, Any]) -> None:
        import torch

        from ..call import outputs

        path = os.path.join(self.spec["folder"], "returned-{}.pt".format(number))
        # outputs that cannot be saved (full disk, exotic tensors) raise here and are not checked
        torch.save(outputs.take(result, seen.reachable, seen.stamps, None, after), path)
        leaves = [
            (i, leaf)
            for i, (_, leaf) in enumerate(outputs.flatten(result))
            if isinstance(leaf, torch.Tensor)
        ]
        hooked = [(i, leaf) for i, leaf in leaves if leaf.requires_grad and not leaf.is_leaf]
        answer = self.ask(
            {"event": "returned", "call": number, "path": path, "differentiable": bool(hooked)}
        )
        if hooked and answer.get("keep"):
            entry = _Pending(number)
            for index, leaf in hooked:
                leaf.register_hook(_noting(entry, index))
            self.pending = (self.pending + [entry])[-_MAX_PENDING:]

    def flush_gradients(self) -> None:
        """Hands over the gradients noted so far; called before the next call and at the end of the
        script.
        """
        import sys

        if "torch" not in sys.modules or not self.pending:
            return
        import torch

        ready, self.pending = [e for e in self.pending if e.flows], [
            e for e in self.pending if not e.flows
        ]
        for entry in ready:
            if not self.watching:
                return
            path = os.path.join(self.spec["folder"], "flows-{}.pt".format(entry.number))
            torch.save(entry.flows, path)
            self.ask({"event": "gradients", "call": entry.number, "path": path})

    def finish(self, ending: ProgramEnding) -> None:
        """Tells the host how the script ended."""
        if os.getpid() != self.pid or self.finished:
            return
        self.finished = True
        from ..dynamo import graph_breaks

        started = time.time()
        try:
            self.flush_gradients()
        finally:
            self.watching = False
            self.overhead += time.time() - started
            finished: FinishedEvent = {
                "event": "finished",
                "calls": self.calls,
                "compiles": self.compiles,
                "overhead": round(self.overhead, 3),
                "complaints": graph_breaks.count(),
                **ending,
            }
            self.channel.send(finished)


def _cuda_in_use() -> bool:
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def _settled() -> None:
    """Waits for what a call has begun on a CUDA device, so that a kernel's failure is that call's
    and not a later one's.
    """
    if _cuda_in_use():
        import torch

        torch.cuda.synchronize()


def _noting(entry: _Pending, index: int) -> Callable[[Any], None]:
    def note(flow: Any) -> None:
        if flow is None:  # an output that the loss does not depend on, beside one that it does
            return
        copy = flow.detach().clone().cpu()
        entry.flows[index] = entry.flows[index] + copy if index in entry.flows else copy

    return note

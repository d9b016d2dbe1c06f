"""The program run again up to one recorded call, which is then made as the host asks.

A fork cannot use a CUDA device that its parent has initialized, and not every system can fork a
program with threads. There the program itself is the recording: each question about a call starts
it anew. What the call could reach is put back to what it was in the recorded run, so a program that
draws other numbers each time still makes the same call; one whose tensors have other shapes is not
asked, since nothing that it answered would be about the recorded call.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import signal
import threading
import traceback
from typing import Any, Callable, List

from ..machine.processes import die_with_parent
from ..protocol.starting import STOP_SIGNAL, ProgramEnding, RerunGreeting, RerunSpec
from .channel import Channel
from .hooks import call_when_imported
from .watched_callable import CompiledCall
from .watcher import CallWatcher


class Rerun(CallWatcher):
    """Takes the recorder's place in a program that is run again: calls are counted, and call number
    `spec["call"]` is asked about, beyond which the program never gets.

    Nobody is told of what it does on its way.
    """

    def __init__(self, spec: RerunSpec) -> None:
        die_with_parent(os.getppid())
        super().__init__()
        self.channel = Channel.adopt(int(spec["descriptor"]))
        self.spec = spec
        call_when_imported("torch.distributed.rendezvous", _give_own_store)

    def watch(self, call: CompiledCall) -> Any:
        """Makes a call on the way to the one that is asked about, or serves that one."""
        with self.take_turn() as has_turn:
            number, watched_call = self.calls, None
            self.calls += 1
            call.watched.calls += 1
            if number == self.spec["call"]:
                self._end_with(self._make_server(call, number))
            with contextlib.suppress(Exception):  # the script must not fail by being watched
                watched_call = self._look_at(call, number) if has_turn else None
            result = call.compiled(*call.args, **call.kwargs)
            if watched_call is not None:
                watched_call.synchronize()
                with contextlib.suppress(Exception), watched_call.leave_modes():  # as above
                    watched_call.remember()
            return result

    def _look_at(
        self, call: CompiledCall, number: int, then: Callable[[Any], None] = lambda _: None
    ) -> Any:
        from .watched_call import begin  # it imports torch, as the program has by now

        return begin(call, number, then)

    def _make_server(self, call: CompiledCall, number: int) -> Callable[[], None]:
        """What answers the questions about a call; it says why, where the call cannot be had.

        In the thread that makes the call, whose switches are part of it.
        """
        from .rerun_server import RerunServer

        try:
            recorded: List[Any] = []
            self._look_at(call, number, lambda it: recorded.append(it.record()))
            return RerunServer(self.channel, self.spec, recorded[0]).serve
        except Exception:  # whatever it is, the program must not get any further
            refusal: RerunGreeting = {"role": "rerun", "changed": traceback.format_exc()[-4000:]}
            return lambda: self.channel.send(refusal)

    def _end_with(self, serve: Callable[[], None]) -> None:
        """Has a new thread serve the requests, and ends the program."""
        # a program's own handler can be put aside in the main thread only
        with contextlib.suppress(ValueError):
            signal.signal(STOP_SIGNAL, signal.SIG_DFL)

        def serve_inside() -> None:
            self.local.inside = True  # what the call compiles in its turn is part of it
            serve()

        # a new thread has torch's switches at their defaults, as in a fork server: the call's own
        # come from its state
        thread = threading.Thread(target=serve_inside)
        thread.start()
        thread.join()
        os._exit(0)

    def finish(self, ending: ProgramEnding) -> None:
        """The program ended without making the call; the host sees that it is gone."""


def _give_own_store(rendezvous: Any) -> None:
    """A process group of one process meets at a store of its own: the recorded program, which
    waits meanwhile, listens at the address that both are given (`_create_c10d_store` in
    `torch/distributed/rendezvous.py`, 2.0 to 2.15).
    """
    original = rendezvous._create_c10d_store
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def create(*args: object, **kwargs: object) -> object:
        given = parameters.bind(*args, **kwargs).arguments
        if given["world_size"] != 1:
            return original(*args, **kwargs)
        import torch

        return torch.distributed.HashStore()

    rendezvous._create_c10d_store = create

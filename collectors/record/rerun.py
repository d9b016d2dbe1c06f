"""The program run again up to one recorded call, which is then made as the host asks.

A fork cannot use a CUDA device that its parent has initialised, and not every system can fork a
program with threads. There the program itself is the recording: each question about a call starts
it anew. What the call could reach is put back to what it was in the recorded run, so a program that
draws other numbers each time still makes the same call; one whose tensors have other shapes is not
asked, since nothing that it answered would be about the recorded call.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import traceback
from typing import Any, Dict, Mapping, Union

from ..call import stopping
from ..call.rungs import RecordedCall
from ..protocol import (
    CallAnswer,
    CallEvent,
    CallRequest,
    HostReply,
    ProgramEnding,
    RerunGreeting,
    RerunSpec,
    StopRequest,
)
from ..worker import candidate
from .call_state import Changed, restore
from .channel import Channel
from .recorder import Recorder


class Rerun(Recorder):
    """Takes the recorder's place in a program that is run again: calls are counted, and call number
    `spec["call"]` is asked about.
    """

    def __init__(self, spec: RerunSpec) -> None:
        candidate.die_with_parent(os.getppid())
        super().__init__(Channel.adopt(int(spec["descriptor"])), spec)
        self.rerun = spec

    def ask(self, message: CallEvent) -> HostReply:
        """Nobody is told of what the program does on its way."""
        return {}

    def finish(self, ending: ProgramEnding) -> None:
        """The program ended without making the call; the host sees that it is gone."""

    def _returned(self, number: int, result: Any, seen: Any, after: Dict[str, Any]) -> None:
        """Nothing is handed over."""

    def _begin(self, call: Any, number: int, watched: Any) -> None:
        if number != self.rerun["call"]:
            return
        with contextlib.suppress(
            ValueError
        ):  # a program's own handler can be put aside in the main thread only
            signal.signal(stopping.SIGNAL, signal.SIG_DFL)
        # a new thread has torch's switches at their defaults, as in a fork server: the call's own
        # come from its state
        thread = threading.Thread(target=self._serve, args=(call, _device()))
        thread.start()
        thread.join()
        os._exit(0)

    def _serve(self, call: Any, device: int) -> None:
        self.local.inside = True  # what the call compiles in its turn is part of it
        try:
            if device > 0:
                import torch

                torch.cuda.set_device(device)
            if self.spec.get("cache"):
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.spec["cache"]
            call.adopt_settings()
            restore(call, self.rerun["kept"])
        except BaseException as error:
            changed = isinstance(error, Changed)
            why = str(error) if changed else traceback.format_exc()[-4000:]
            refusal: RerunGreeting = {"role": "rerun", "changed": why}
            self.channel.send(refusal)
            return
        greeting: RerunGreeting = {"role": "rerun", "pid": os.getpid()}
        self.channel.send(greeting)
        while True:
            request: Union[CallRequest, StopRequest, None] = self.channel.receive()
            if request is None or request["op"] == "stop":
                return
            self.channel.send(self._answer(call, request))
            if not request.get("stay"):
                return

    def _answer(self, call: RecordedCall, request: CallRequest) -> CallAnswer:
        from . import requests

        log = os.open(request["log"], os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        stopping.prepare()
        try:
            answer = requests.perform(call, request)
        except BaseException:
            answer = {"outcome": "error", "detail": traceback.format_exc()[-4000:]}
        if _is_out_of_memory(answer):
            # the recorded program is still there and holds its part: this failure is of our making
            return {
                "outcome": "error",
                "detail": "the device has not enough memory for another run",
            }
        return answer


def _is_out_of_memory(answer: Mapping[str, Any]) -> bool:
    failure = answer.get("failure") or {}
    return "OutOfMemoryError" in str(failure.get("exception", ""))


def _device() -> int:
    """The calling thread's current CUDA device, which a new thread does not inherit."""
    import torch

    with contextlib.suppress(Exception):
        if torch.cuda.is_initialized():
            return int(torch.cuda.current_device())
    return 0

"""The requests about a call to which the program has come once more, done in the program itself.

Loaded at the first compiled call, since it needs torch.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from typing import Any, Mapping, Union

import torch

from ..call import stopping
from ..call.rungs import RecordedCall
from ..dynamo import counters
from ..protocol.call_requests import CallRequest
from ..protocol.calls import CallAnswer, StopRequest
from ..protocol.starting import RerunGreeting, RerunSpec
from ..protocol.words import CallOutcome
from . import requests
from .call_state import CallChangedError, restore
from .channel import Channel


class RerunServer:
    """Does what the host asks of one call; made in the thread of the program, it serves in a new
    one.
    """

    def __init__(self, channel: Channel, spec: RerunSpec, call: RecordedCall) -> None:
        self.channel = channel
        self.spec = spec
        self.call = call
        self._device = _find_device()

    def serve(self) -> None:
        """Puts the call's state back and answers until there is no more to come."""
        try:
            self._prepare()
        except BaseException as error:  # the program's objects may do anything
            changed = isinstance(error, CallChangedError)
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
            self.channel.send(self._answer(request))
            if not request.get("stay") or not self._is_as_before(request):
                return

    def _prepare(self) -> None:
        """Puts the call back as it was recorded.

        Raises:
            CallChangedError: this is another one.
        """
        if self._device > 0:
            torch.cuda.set_device(self._device)
        if self.spec.get("cache"):
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.spec["cache"]
        self.call.adopt_settings()
        restore(self.call, self.spec["kept"])

    def _is_as_before(self, request: CallRequest) -> bool:
        """Whether the call can be looked at once more: after it was made, what it had changed is
        put back if that is possible.
        """
        if request["op"] == "run":
            try:
                return restore(self.call, self.spec["kept"])
            except BaseException:  # as above
                return False
        return True

    def _answer(self, request: CallRequest) -> CallAnswer:
        log = os.open(request["log"], os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        stopping.prepare()
        before = counters.count_compilations()
        try:
            answer = requests.perform(self.call, request)
        except BaseException:  # the call is the program's code
            answer = {"outcome": CallOutcome.ERROR, "detail": traceback.format_exc()[-4000:]}
        if _is_out_of_memory(answer):
            # the recorded program is still there and holds its part: this failure is of our making
            return {
                "outcome": CallOutcome.ERROR,
                "detail": "the device has not enough memory for another run",
            }
        answer["compilations"] = counters.count_compilations() - before
        return answer


def _is_out_of_memory(answer: Mapping[str, Any]) -> bool:
    failure = answer.get("failure") or {}
    return "OutOfMemoryError" in str(failure.get("exception", ""))


def _find_device() -> int:
    """The calling thread's current CUDA device, which a new thread does not inherit."""
    with contextlib.suppress(Exception):  # a driver may fail in any way
        if torch.cuda.is_initialized():
            return int(torch.cuda.current_device())
    return 0

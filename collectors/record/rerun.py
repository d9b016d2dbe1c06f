"""The program run again up to one recorded call, which is then made as the host asks.

A fork cannot use a CUDA device that its parent has initialised, and not every system can fork a program with threads. There
the program itself is the recording: each question about a call starts it anew. What the call could reach is put back to what
it was in the recorded run, so a program that draws other numbers each time still makes the same call; one whose
tensors have other shapes is not asked, since nothing that it answered would be about the recorded call.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from typing import Any, Dict, List, Tuple

from ..call import stopping
from ..worker import candidate
from .channel import Channel
from .recorder import Recorder

#: Bytes of tensors that are kept of one call; of a larger model the program's own seeds have to make the same.
_MOST_KEPT = 1 << 30


class Changed(Exception):
    """The program made another call this time; the text says what is different."""


def keep(call: Any, path: str) -> None:
    """Writes to `path` what a recorded call can reach: shapes and dtypes, values if they are few enough, random states."""
    import torch

    from ..call import context, outputs

    reachable = outputs.with_grads(context.reachable(call.function, call.args, call.kwargs))
    sizes = {t.untyped_storage().data_ptr(): _bytes(t) for t in reachable.values() if _is_plain(t)}
    values = {label: t.detach() for label, t in reachable.items() if _is_plain(t)}
    kept = {
        "kinds": _kinds(reachable),
        "values": values if sum(sizes.values()) <= _MOST_KEPT else {},
        "python": call.random,
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
        "numpy": sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None,
    }
    torch.save(kept, path + ".part")
    os.replace(path + ".part", path)


def restore(call: Any, path: str) -> None:
    """Puts back what `keep` wrote. Raises Changed if this is another call."""
    import torch

    from ..call import context, outputs

    kept = outputs.load(path, "cpu")
    reachable = outputs.with_grads(context.reachable(call.function, call.args, call.kwargs))
    kinds = _kinds(reachable)
    if kinds != kept["kinds"]:
        odd = sorted(
            label
            for label in {*kinds, *kept["kinds"]}
            if kinds.get(label) != kept["kinds"].get(label)
        )
        raise Changed("other tensors than in the recorded run: " + ", ".join(odd[:3]))
    for label, value in kept["values"].items():
        _put(label, reachable[label], value)
    call.random = kept["python"]
    torch.set_rng_state(kept["torch"])
    if kept["cuda"]:
        torch.cuda.set_rng_state_all(kept["cuda"])
    if kept["numpy"] is not None and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(kept["numpy"])


def _put(label: str, tensor: Any, value: Any) -> None:
    """Gives a tensor the value it had, below autograd's sight; what is equal already is left alone."""
    import torch

    with torch.no_grad(), torch.inference_mode(bool(tensor.is_inference())):
        if torch.equal(tensor.detach().cpu(), value):
            return
        try:
            tensor.data.copy_(value)
        except RuntimeError:  # an expanded tensor, whose elements share memory
            raise Changed("{} has other values and cannot be written to".format(label)) from None


def _is_plain(tensor: Any) -> bool:
    import torch

    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.device.type != "meta"
        and not tensor.is_quantized
    )


def _bytes(tensor: Any) -> int:
    return int(tensor.untyped_storage().nbytes())


def _kinds(tensors: Dict[str, Any]) -> Dict[str, Tuple[List[int], str]]:
    return {label: (list(t.shape), str(t.dtype)) for label, t in tensors.items()}


class Rerun(Recorder):
    """Takes the recorder's place in a program that is run again: calls are counted, and call number `spec["call"]` is asked about.

    `spec`: `descriptor` of the channel, `folder` of the host, `kept`: the file of `keep`, `cache`: the compiler cache.
    """

    def __init__(self, spec: Dict[str, Any]) -> None:
        candidate.die_with_parent(os.getppid())
        super().__init__(Channel.adopt(int(spec["descriptor"])), spec)

    def ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Nobody is told of what the program does on its way."""
        return {}

    def finish(self, ending: Dict[str, Any]) -> None:
        """The program ended without making the call; the host sees that it is gone."""

    def _returned(self, number: int, result: Any, seen: Any, after: Dict[str, Any]) -> None:
        """Nothing is handed over."""

    def _begin(self, call: Any, number: int, watched: Any) -> None:
        if number != self.spec["call"]:
            return
        with contextlib.suppress(
            ValueError
        ):  # a program's own handler can be put aside in the main thread only
            signal.signal(stopping.SIGNAL, signal.SIG_DFL)
        # a new thread has torch's switches at their defaults, as in a standby: the call's own come from its state
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
            restore(call, self.spec["kept"])
        except BaseException as error:
            changed = isinstance(error, Changed)
            why = str(error) if changed else traceback.format_exc()[-4000:]
            self.channel.send({"role": "rerun", "changed": why})
            return
        self.channel.send({"role": "rerun", "pid": os.getpid()})
        while True:
            request = self.channel.receive()
            if request is None or request["op"] == "stop":
                return
            self.channel.send(self._answer(call, request))
            if not request.get("stay"):
                return

    def _answer(self, call: Any, request: Dict[str, Any]) -> Dict[str, Any]:
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


def _is_out_of_memory(answer: Dict[str, Any]) -> bool:
    failure = answer.get("failure") or {}
    return "OutOfMemoryError" in str(failure.get("exception", ""))


def _device() -> int:
    """The calling thread's current CUDA device, which a new thread does not inherit."""
    import torch

    with contextlib.suppress(Exception):
        if torch.cuda.is_initialized():
            return int(torch.cuda.current_device())
    return 0

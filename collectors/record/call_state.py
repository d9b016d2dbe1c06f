"""What a recorded call can reach, kept in a file, and put back where the program makes the call
once more.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import torch

from ..call import outputs
from ..call.reachable import find_reachable
from ..machine.files import write_whole
from ..machine.random_state import RandomState

#: Bytes of tensors that are kept of one call; of a larger model the program's own seeds have to
#: make the same.
_MOST_KEPT = 1 << 30


class CallChangedError(Exception):
    """The program made another call this time; the text says what is different."""


def keep(call: Any, path: str) -> None:
    """Writes to `path` what a recorded call can reach: shapes and dtypes, values if they are few
    enough, random states.
    """
    reachable = outputs.add_gradients(find_reachable(call.function, call.args, call.kwargs))
    sizes = {
        t.untyped_storage().data_ptr(): _count_bytes(t) for t in reachable.values() if _is_plain(t)
    }
    values = {label: t.detach() for label, t in reachable.items() if _is_plain(t)}
    kept = {
        "kinds": _describe_kinds(reachable),
        "values": values if sum(sizes.values()) <= _MOST_KEPT else {},
        "random": vars(RandomState.read(call.conditions.random)),
    }
    with write_whole(path) as part:
        torch.save(kept, part)


def restore(call: Any, path: str) -> bool:
    """Puts back what `keep` wrote, and says whether that was all that the call can reach.

    Raises:
        CallChangedError: this is another call.
    """
    kept = outputs.load(path, "cpu")
    reachable = outputs.add_gradients(find_reachable(call.function, call.args, call.kwargs))
    kinds = _describe_kinds(reachable)
    if kinds != kept["kinds"]:
        odd = sorted(
            label
            for label in {*kinds, *kept["kinds"]}
            if kinds.get(label) != kept["kinds"].get(label)
        )
        raise CallChangedError("other tensors than in the recorded run: " + ", ".join(odd[:3]))
    for label, value in kept["values"].items():
        _put(label, reachable[label], value)
    drawn = RandomState(**kept["random"])
    drawn.restore()
    call.conditions.random = drawn.python
    return bool(kept["values"].keys() == reachable.keys())


def _put(label: str, tensor: Any, value: Any) -> None:
    """Gives a tensor the value it had, below autograd's sight; what is equal already is left
    alone.
    """
    with torch.no_grad(), torch.inference_mode(bool(tensor.is_inference())):
        if torch.equal(tensor.detach().cpu(), value):
            return
        try:
            tensor.data.copy_(value)
        except RuntimeError:  # an expanded tensor, whose elements share memory
            raise CallChangedError(
                "{} has other values and cannot be written to".format(label)
            ) from None


def _is_plain(tensor: Any) -> bool:
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.device.type != "meta"
        and not tensor.is_quantized
    )


def _count_bytes(tensor: Any) -> int:
    return int(tensor.untyped_storage().nbytes())


def _describe_kinds(tensors: Dict[str, Any]) -> Dict[str, Tuple[List[int], str]]:
    return {label: (list(t.shape), str(t.dtype)) for label, t in tensors.items()}

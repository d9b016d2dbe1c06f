"""Every operator of a program on DTensors held against the same operator on the whole tensors.

A DTensor stands for one tensor that several processes hold parts of, so an operator on it has to
give what it gives on that tensor (`torch/distributed/tensor/_dispatch.py`, 2.13). Putting the parts
together is a collective: all processes look at the same calls, and none of them may pass over one
for a reason of its own, such as the time that it took.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, List, Tuple

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map

from ...machine.dispatcher_mode import DispatcherMode
from ...machine.public_names import shorten_name
from ...protocol.starting import ShardedError
from ..probe import EMPTY

#: Operators that are looked at, and the elements of their tensors, which no process may exceed.
_MOST_CALLS, _MOST_ELEMENTS = 500, 1 << 20
#: How the parts of a `Partial` may be put together (torch/distributed/tensor/placement_types.py).
_REDUCTIONS = ("sum", "avg", "product", "max", "min")


def is_sharded(value: Any) -> bool:
    """Whether a value is a DTensor; torch has had it in three places."""
    return type(value).__name__ == "DTensor" and hasattr(value, "full_tensor")


class ShardedMeasurement(DispatcherMode):
    """Tells `note` of what is wrong; `number` is asked for the number of the function that the
    program has called.
    """

    def __init__(self, note: Callable[[ShardedError], None], number: Callable[[], int]) -> None:
        super().__init__()
        self.note = note
        self.number = number
        self._left = _MOST_CALLS

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if self._left <= 0 or not _is_looked_at(func, args, named):
            return func(*args, **named)
        self._left -= 1
        placements = list_placements(args, named)  # an operator may change those of its arguments
        wanted = self._compute_whole(func, args, named)
        result = func(*args, **named)
        if wanted is not None:
            self._hold(func, result, wanted, placements)
        return result

    def _compute_whole(self, func: Any, args: Any, named: Any) -> Any:
        """What the operator gives on the whole tensors; None where it refuses them."""
        with _apart(), contextlib.suppress(Exception):
            given, keywords = tree_map(_join, (args, named))
            return func(*given, **keywords)
        return None

    def _hold(self, func: Any, result: Any, wanted: Any, placements: List[str]) -> None:
        with _apart(), contextlib.suppress(Exception):
            for own, whole in zip(tree_flatten(result)[0], tree_flatten(wanted)[0]):
                if not is_sharded(own):
                    continue
                error, largest = _measure(_join(own), whole)
                if error > 0:
                    self.note(
                        {
                            "operator": str(func),
                            "function": self.number(),
                            "error": error,
                            "largest": largest,
                            "sensitivity": 0.0,
                            "placements": placements,
                        }
                    )


@contextlib.contextmanager
def _apart() -> Any:
    """Without autograd, and without any mode that sees the program's calls."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield


def _is_looked_at(func: Any, args: Any, named: Any) -> bool:
    sharded = [leaf for leaf in tree_flatten((args, named))[0] if is_sharded(leaf)]
    if not sharded or sum(each.numel() for each in sharded) > _MOST_ELEMENTS:
        return False
    return shorten_name(func) not in EMPTY and torch.Tag.nondeterministic_seeded not in func.tags


def list_placements(args: Any, named: Any) -> List[str]:
    """How each DTensor among the arguments is placed, as `distribute_tensor` is told it; a program
    may have placements of its own, and such a tensor is left out.
    """
    sharded = [leaf for leaf in tree_flatten((args, named))[0] if is_sharded(leaf)]
    written = [[_write_placement(each) for each in leaf.placements] for leaf in sharded]
    return ["[" + ", ".join(words) + "]" for words in written if words and all(words)]


def _write_placement(placement: Any) -> str:
    """Nothing for what torch does not tell of in public."""
    name = type(placement).__name__
    if name == "Replicate":
        return "Replicate()"
    if name == "Shard":
        return "Shard({})".format(int(placement.dim))
    if name == "Partial" and placement.reduce_op in _REDUCTIONS:
        return 'Partial("{}")'.format(placement.reduce_op)
    return ""


def _join(value: Any) -> Any:
    """The whole of a DTensor, in memory of its own; any other value as it is."""
    return value.detach().full_tensor().clone() if is_sharded(value) else value


def _measure(own: torch.Tensor, whole: torch.Tensor) -> Tuple[float, float]:
    """By how much a result is off beyond what another order of the sums gives, else 0; and the
    largest value.
    """
    if own.shape != whole.shape:
        return float("inf"), 0.0
    if not whole.dtype.is_floating_point:
        return (0.0 if torch.equal(own, whole) else 1.0), 1.0
    held = whole.isfinite()
    largest = whole[held].abs().max().item() if held.any() else 0.0
    off = (own.to(torch.float64) - whole.to(torch.float64))[held].abs().nan_to_num(float("inf"))
    error = off.max().item() if off.numel() else 0.0
    return (error if error > torch.finfo(whole.dtype).eps ** 0.5 * largest else 0.0), largest

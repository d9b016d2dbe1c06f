"""The arguments of a call with one more row in the batch: a size that was written as a number where
it had been read from a tensor shows only when that size changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, Optional

import torch
import torch.utils._pytree

from ..call import outputs, rungs


@dataclass(frozen=True)
class LargerBatch:
    """The call with `size` rows instead of one less; `grown` are its new tensors by the id of those
    in whose place they are.
    """

    call: rungs.RecordedCall
    size: int
    grown: Dict[int, torch.Tensor]

    @classmethod
    def from_call(cls, call: rungs.RecordedCall) -> Optional[LargerBatch]:
        """The batch is the first size of the first argument that has sizes; each argument that
        starts with the same size gets its first row once more. None where no argument has rows.
        """
        leaves = outputs.flatten([list(call.args), dict(call.kwargs)])
        tensors = [leaf for _, leaf in leaves if type(leaf) is torch.Tensor and _has_rows(leaf)]
        if not tensors:
            return None
        rows = tensors[0].size(0)
        grown = {id(tensor): _grow(tensor) for tensor in tensors if tensor.size(0) == rows}
        args, kwargs = torch.utils._pytree.tree_map(
            lambda leaf: grown.get(id(leaf), leaf), (call.args, call.kwargs)
        )
        return cls(replace(call, args=args, kwargs=kwargs), rows + 1, grown)


def _has_rows(tensor: torch.Tensor) -> bool:
    is_plain = tensor.layout == torch.strided and not tensor.is_quantized
    return bool(is_plain and tensor.dim() > 0 and tensor.size(0) > 0)


def _grow(tensor: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        longer = torch.cat([tensor, tensor[:1]])
    return longer.requires_grad_(tensor.requires_grad)

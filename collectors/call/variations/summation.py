"""Sums of floats in another order: one addition after another, as generated code may do it.

Eager mode adds up in pairs of blocks, with an error that hardly grows with the number of elements
(`cascade_sum` in `aten/src/ATen/native/cpu/SumKernel.cpp`);
torch promises no order (https://pytorch.org/docs/stable/notes/numerical_accuracy.html).
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import torch

from ...machine.dispatcher_mode import DispatcherMode
from ...machine.public_names import shorten_name

#: Additions in a row, at most; of longer sums so many blocks are added, and then their elements.
_MOST = 4096
#: Operators that add up elements.
SUMS = ("sum", "mean", "nansum", "var", "std", "var_mean", "std_mean")
#: Of `SUMS`, those of the elements themselves.
_PLAIN_SUMS = ("sum", "mean", "nansum")


class SequentialSumsMode(DispatcherMode):
    """Sums, means and variances are made by one addition after another, in the dtype that eager
    mode adds in: a result that moves depends on the order.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        result = func(*args, **given)
        short = shorten_name(func)
        if short in SUMS:
            values = args[0].detach()
            results = result if isinstance(result, (tuple, list)) else [result]
            if all(map(_is_float, (values, *results))) and values.dim() and values.numel():
                dims = _find_dims(values, given.get("dim", args[1] if len(args) > 1 else None))
                made = _compute(short, values.to(_find_accumulator(results[0])), dims, given)
                for old, new in zip(results, made):
                    old.copy_(new.reshape(old.shape))
        return result


def _compute(
    name: str, values: torch.Tensor, dims: Sequence[int], given: dict[str, Any]
) -> Tuple[torch.Tensor, ...]:
    """What an operator returns, without the reduced dimensions."""
    rows = values.movedim(list(dims), list(range(len(dims)))).flatten(0, len(dims) - 1)
    count = rows.shape[0]
    if name == "nansum":
        rows = torch.nan_to_num(rows, nan=0.0)
    if name in _PLAIN_SUMS:
        total = _add_in_turn(rows)
        return (total / count if name == "mean" else total,)
    mean, squares = _add_deviations_in_turn(rows)
    correction = given.get("correction")
    variance = squares / max(count - (1 if correction is None else correction), 0)
    return (variance.sqrt() if name.startswith("std") else variance, mean)


def _add_in_turn(rows: torch.Tensor) -> torch.Tensor:
    """The sum over the first dimension.

    Args:
        rows: floats of shape [n, …].

    Returns:
        the sum of shape […], in the dtype of `rows`; the last of n / 4096 additions in one row are
        torch's own where n is larger.
    """
    block = -(-rows.shape[0] // _MOST)
    total = torch.zeros_like(rows[:block])
    for part in rows.split(block):
        total[: part.shape[0]] += part
    return total.sum(0) if block > 1 else total[0]


def _add_deviations_in_turn(rows: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """The mean over the first dimension and the sum of squared deviations from it, by Welford's
    method, which Inductor's kernels use (`welford_combine` in `torch/_inductor/codegen`).

    Args:
        rows: floats of shape [n, …].

    Returns:
        two tensors of shape […], in the dtype of `rows`.
    """
    block = -(-rows.shape[0] // _MOST)
    mean, squares = torch.zeros_like(rows[:block]), torch.zeros_like(rows[:block])
    counts = rows.new_zeros(block, *(1 for _ in rows.shape[1:]))
    for part in rows.split(block):
        lanes = slice(part.shape[0])
        counts[lanes] += 1
        delta = part - mean[lanes]
        mean[lanes] += delta / counts[lanes]
        squares[lanes] += delta * (part - mean[lanes])
    if block == 1:
        return mean[0], squares[0]
    whole = (mean * counts).sum(0) / rows.shape[0]
    return whole, squares.sum(0) + (counts * (mean - whole) ** 2).sum(0)


def _find_dims(values: torch.Tensor, given: Any) -> List[int]:
    """The reduced dimensions, from 0; all where none are given."""
    dims = [given] if isinstance(given, int) else list(given or ())
    return [dim % max(values.dim(), 1) for dim in dims] or list(range(values.dim()))


def _find_accumulator(result: torch.Tensor) -> Optional[torch.dtype]:
    """The dtype in which eager mode adds up."""
    return torch.float64 if result.dtype == torch.float64 else torch.float32


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    )

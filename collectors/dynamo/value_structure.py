"""What operators ask of a tensor's values beside their range, and made-up ones would not have by
chance.
"""

from __future__ import annotations

from typing import List, Optional

import torch

from ..protocol.captured_values import ValueStructure

#: A number this far above all others is seldom met by random ones from the whole range.
_FAR = 16
#: A matrix with more rows takes too long to look at.
_MOST_ROWS = 512
#: So many elements of a vector are looked at together.
_PART = 1 << 18
#: By how much of the largest element a computed symmetric matrix may be unsymmetric.
_ROUNDING = 1e-5


def widen(values: torch.Tensor) -> torch.Tensor:
    """Real numbers of any dtype as float64, or whole ones as int64, of which float64 loses those
    beyond 2 ** 53; those of uint64 are more than int64 holds.
    """
    is_whole = not values.is_floating_point() and values.dtype is not getattr(torch, "uint64", None)
    return values.long() if is_whole else values.double()


def read_number(value: torch.Tensor) -> float:
    """A finite number of one element; an int where no float is the same."""
    number = value.item()
    return float(number) if float(number) == number else number


def find_padding(values: torch.Tensor) -> Optional[int]:
    """The number that says "nothing here" in indices and labels, which no operator takes for one of
    them: the only negative one, below -1 (`ignore_index=-100` of torch's losses), or one that
    recurs, further above all others than these are apart (255 in masks of a segmentation).

    Args:
        values: a tensor of whole numbers, of any shape, with at least one element.

    Returns:
        The number; None where there is none.
    """
    low, high = values.min(), values.max()
    above, below = values[values > low], values[values < high]
    if not above.numel():
        return None
    if low < -1 and above.min() >= 0:
        return int(low)
    last = int(below.max())  # a difference may be more than the dtype holds
    width = max(last - int(below.min()), _FAR)
    recurs = int((values == high).sum()) > 1
    return int(high) if recurs and int(high) - last > width else None


def is_identity(values: torch.Tensor) -> bool:
    """Whether a tensor of any shape and dtype is the identity matrix, of two rows or more."""
    is_square = values.dim() == 2 and 1 < values.shape[0] == values.shape[1] <= _MOST_ROWS
    if not is_square or not values.is_floating_point():
        return False
    return bool((values == torch.eye(len(values), device=values.device)).all())


def find_structure(values: torch.Tensor) -> Optional[ValueStructure]:
    """An order, as offsets, boundaries and lengths of sequences have it, or positive definiteness,
    which `torch.linalg.cholesky` asks for.

    Args:
        values: a tensor of finite real numbers, of any shape and dtype.

    Returns:
        "ascending" or "descending" for a vector of three numbers or more, not all equal; "definite"
        for a symmetric positive definite matrix of two rows or more, or a batch of them; else None.
    """
    if values.dim() == 1:
        return _find_order(values)
    is_square = values.dim() > 1 and 1 < values.shape[-1] == values.shape[-2] <= _MOST_ROWS
    if not is_square or not values.is_floating_point() or not values.numel():
        return None
    wide = values.double().cpu()
    if bool(((wide - wide.mT).abs() > _ROUNDING * wide.abs().max()).any()):
        return None
    failed: torch.Tensor = torch.linalg.cholesky_ex(wide).info
    return None if bool(failed.any()) else "definite"


def _find_order(values: torch.Tensor) -> Optional[ValueStructure]:
    names: List[ValueStructure] = ["ascending", "descending"]
    for start in range(0, len(values) - 1, _PART):
        # few operators take each dtype; parts overlap by one element
        steps = values[start : start + _PART + 1].double().diff()
        held = {"ascending": bool((steps >= 0).all()), "descending": bool((steps <= 0).all())}
        names = [name for name in names if held[name]]
        if not names:
            return None
    return names[0] if len(values) > 2 and len(names) == 1 else None

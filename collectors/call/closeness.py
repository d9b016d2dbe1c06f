"""How alike two runs' tensors are: the same bits, within tolerance, or no farther from float64 than
the other.

Where two programs compute the same by other operators, neither is right and a third one has to say
who is how far off.
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import torch

from ..protocol.comparison import ListComparison
from ..protocol.words import Closeness
from .tolerance import ASSERT_CLOSE, widen_values

#: How much farther from float64 the rewritten model may be than the private one: `multiplier` of
#: `torch._dynamo.utils.same` (`torch/_dynamo/utils.py` of 2.13.0) for large float32 tensors.
_FARTHER = 2.0
#: How far off float64 the private model itself may be, as a share of its values, for float64 to be
#: a judge.
_ROUNDING = {torch.float16: 0.2, torch.bfloat16: 0.5}


def compare_lists(
    expected: List[Any], actual: List[Any], exact: Optional[Sequence[Any]] = None
) -> ListComparison:
    """How alike two lists of tensors are; None stands for a gradient that there is not, and equals
    zeros.

    Args:
        expected: of any shapes and dtypes.
        actual: the tensor at the same place has to have the same shape and dtype.
        exact: the expected tensors in float64 or complex128; None for one that is not known.

    Returns:
        `how` of the pair that is least alike, the number of expected tensors, and the largest
        absolute error of an element over all pairs.
    """
    found: ListComparison = {"how": "bitwise", "count": len(expected), "max_abs_error": 0.0}
    if len(expected) != len(actual):
        found["how"] = "differ"
        found["detail"] = "{} against {}".format(len(expected), len(actual))
        return found
    referees = (
        exact if exact is not None and len(exact) == len(expected) else [None] * len(expected)
    )
    seen = {"bitwise"}
    for one, other, referee in zip(expected, actual, referees):
        if one is None or other is None:
            if any(t is not None and bool(t.any()) for t in (one, other)):
                seen.add("differ")
            continue
        if (one.shape, one.dtype, one.layout) != (other.shape, other.dtype, other.layout):
            seen.add("differ")
            continue
        if one.layout != torch.strided:  # no operator compares sparse tensors
            one, other, referee = (t if t is None else t.to_dense() for t in (one, other, referee))
        if _are_identical(one, other):
            continue
        wide = widen_values(one), widen_values(other)
        error = (wide[0] - wide[1]).abs()
        found["max_abs_error"] = max(found["max_abs_error"], float(error.nan_to_num().max()))
        tolerance = ASSERT_CLOSE.get(one.dtype, ASSERT_CLOSE[torch.float32])
        if torch.allclose(*wide, *tolerance, equal_nan=True):
            seen.add("close")
        else:
            seen.add("refereed" if _as_near(one, other, referee) else "differ")
    worst_first: Sequence[Closeness] = ("differ", "refereed", "close", "bitwise")
    found["how"] = next(how for how in worst_first if how in seen)
    return found


def _as_near(one: torch.Tensor, other: torch.Tensor, exact: Optional[torch.Tensor]) -> bool:
    """Whether `other` is about as near to float64 as `one`, which is what rounding would
    explain.
    """
    if exact is None or not one.dtype.is_floating_point or exact.shape != one.shape:
        return False
    if not all(bool(torch.isfinite(t).all()) for t in (one, other, exact)):
        return False
    off = [float((t.double() - exact).square().mean().sqrt()) for t in (one, other)]
    size = float(exact.double().square().mean().sqrt())
    # What is farther off than rounding takes it was not the same computation, and is no measure for
    # another.
    if off[0] > _ROUNDING.get(one.dtype, 0.01) * size:
        return False
    return off[1] <= _FARTHER * off[0]


def _are_identical(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype.is_floating_point:
        both = torch.isnan(one) & torch.isnan(other)
        return bool(((one == other) | both).all())
    return bool(torch.equal(one, other))

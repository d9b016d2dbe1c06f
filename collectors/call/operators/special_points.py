"""Derivatives that are wrong at single points: where a formula divides by zero or takes a branch of
its own, or where a kernel gives equal elements different results.

Finite differences refuse a derivative at a kink as well, where nothing is wrong: there it changes
from one side of the point to the other, and at the point it is something in between.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional

import torch

from ...protocol.repro_words import ALIKE, BESIDE_POINT, LEAST_OFF, STANDS_OUT_BESIDE_POINT

#: Elements that are computed each by itself, to see whether the others have a part in them.
_ALONE = 4


class Slope(NamedTuple):
    """What is differentiated and its derivative at some inputs, each of them flat."""

    values: torch.Tensor
    derivative: torch.Tensor


def is_wrong_at_point(compute: Callable[[float, int], Slope]) -> bool:
    """Whether a function is continuous at a point, and its derivative has a limit there and is
    something else, or nothing.

    Args:
        compute: is given the step by which inputs are moved, and the number of the direction; 0.0
            is the point itself.
    """
    values, there = compute(0.0, 0)
    beside = [compute(*where) for where in BESIDE_POINT]
    limits = torch.stack([slope.derivative for slope in beside])
    if there.numel() == 0 or not bool(limits.isfinite().all()):
        return False
    if not all(_is_alike(slope.values, values) for slope in beside[2:]):
        return False
    middle = limits.mean(0)
    spread = _find_largest(limits - middle)
    size = max(1.0, _find_largest(middle))
    off = _find_largest(there - middle)
    return spread < ALIKE * size and off > max(STANDS_OUT_BESIDE_POINT * spread, LEAST_OFF * size)


def _is_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return _find_largest(one - other) < ALIKE * max(1.0, _find_largest(other))


def _find_largest(values: torch.Tensor) -> float:
    """The largest absolute value, where NaN counts as infinite."""
    return float(values.abs().nan_to_num(nan=float("inf")).max())


def find_uneven(
    function: Callable[[torch.Tensor], torch.Tensor], given: torch.Tensor, gradient: torch.Tensor
) -> Optional[float]:
    """How far the derivatives of equal elements are from each other where a function computes each
    element by itself; None where they are alike, or it does not.

    Args:
        function: of one tensor; it is called on others of the same number of dimensions.
        given: the tensor, of any floating-point dtype.
        gradient: the derivative of the sum of the results with respect to it.
    """
    values, slopes = given.detach().flatten(), gradient.detach().flatten()
    widest = 0.0
    for value in values.unique():
        alike = slopes[values == value].double()
        widest = max(widest, float(alike.max() - alike.min()))
    largest = float(slopes.double().abs().max())
    if not widest > torch.finfo(given.dtype).eps ** 0.5 * largest:  # of NaN nothing is said
        return None
    return widest if _is_elementwise(function, given) else None


def _is_elementwise(function: Callable[[torch.Tensor], torch.Tensor], given: torch.Tensor) -> bool:
    """Whether each element of the result is that of the same element alone, for other values."""
    generator = torch.Generator().manual_seed(0)
    other = torch.rand(given.shape, generator=generator, dtype=torch.float64, device="cpu")
    other = (4 * other - 2).to(given)
    with torch.no_grad():
        together = function(other).flatten()
        for number in range(min(_ALONE, other.numel())):
            one = other.flatten()[number].reshape([1] * other.dim())
            alone = function(one)
            if alone.shape != one.shape or not _is_close(alone.flatten()[0], together[number]):
                return False
    return True


def _is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two numbers are the same but for rounding."""
    within = torch.finfo(one.dtype).eps ** 0.5
    return bool(torch.allclose(one, other, rtol=within, atol=within))

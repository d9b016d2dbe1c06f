"""When two tensors count as the same (rule 2), and the numbers that show it.

The rule is `torch._dynamo.utils.same` (`torch/_dynamo/utils.py` of 2.13.0): two floating-point
tensors agree if they are close at 1e-4, or if the compiled one is at most 2 times (3 in half
precision or below 1000 elements) as far from float64, by root mean square, as eager is. The
target's own `same` is asked where it has one; the copy below answers elsewhere and gives the
numbers. What `same` does not know is added: NaN must stay where they are; where both sides are
infinite alike, or eager alone overflows and the compiled value is float64's, the others are judged;
values that are smaller than the rule's absolute tolerance are held against float64 by their size;
an integer or boolean result that is nearer to the float64 run's than eager's is not wrong; indices
may differ where the values tie; float64 is no judge of a program that drew other random numbers
there.
"""

from __future__ import annotations

import math
from typing import Optional, Tuple, TypedDict

import torch

from ..protocol.comparison import TensorJudgment

RULE = 2
_TOLERANCE = 1e-4
_COARSE = (torch.float16, torch.bfloat16)
#: rtol, atol of torch.testing.assert_close, by dtype (`torch/testing/_comparison.py` of 2.13.0):
#: what the user's own assertion most often applies.
ASSERT_CLOSE = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
#: Eager may be so far from float64, relative to the root mean square, and both still have drawn the
#: same numbers.
_RANDOM_NEAR = 0.05
#: Values below the absolute tolerance are wrong where the compiled ones are off float64 by such a
#: share of their root mean square (more is what cancellation leaves of larger numbers), and so many
#: times as far as eager; not where they are near the smallest normal number.
_SMALL_AND_OFF, _FARTHER, _TINY = (0.05, 10.0), 10.0, 1e3
#: Of so many different elements beside an edge rounding would have moved some across it.
_MANY = 8
_MANY_LOOKED_AT = 10000


class IndexedValues(TypedDict):
    """What an index output indexes: the values, along which dimension, and whether by a stable
    sort.
    """

    values: torch.Tensor
    dim: int
    stable: bool


def widen_values(tensor: torch.Tensor) -> torch.Tensor:
    """The values in float64 or complex128."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _is_inexact(tensor: torch.Tensor) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _compute_rms(values: torch.Tensor) -> float:
    if values.numel() == 0:
        return 0.0
    return float(widen_values(values).abs().square().mean().sqrt().item())


def _compute_rmse(a: torch.Tensor, b: torch.Tensor) -> float:
    return _compute_rms(widen_values(a) - widen_values(b))


def find_equal_elements(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where two tensors hold the same value, NaN being equal to NaN.

    Args:
        a: on the device of `b`, and of its shape or one that is broadcast with it; the dtypes may
            differ.

    Returns:
        A bool tensor of their common shape.
    """
    return (a == b) | ((a != a) & (b != b))


def _compute_max_abs(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.numel() == 0:
        return 0.0
    if a.dtype == torch.bool:
        return float((a != b).any().item())
    difference = (widen_values(a) - widen_values(b)).abs()
    return float(difference.masked_fill(find_equal_elements(a, b), 0.0).max().item())


def _compute_max_ulp(a: torch.Tensor, b: torch.Tensor) -> Optional[float]:
    """Largest difference in units in the last place of `a`'s dtype; None where that has no
    meaning.
    """
    if not a.is_floating_point() or a.numel() == 0:
        return None
    finite = torch.isfinite(a) & torch.isfinite(b)
    if not bool(finite.any()):
        return None
    x, y = a[finite].double(), b[finite].double()
    info = torch.finfo(a.dtype)
    exponent = torch.floor(torch.log2(torch.clamp(torch.maximum(x.abs(), y.abs()), min=info.tiny)))
    return float(((x - y).abs() / (torch.exp2(exponent) * info.eps)).max().item())


def _is_within(a: torch.Tensor, b: torch.Tensor, rtol: float, atol: float) -> bool:
    return bool(torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _ask_target(
    reference: torch.Tensor, actual: torch.Tensor, exact: Optional[torch.Tensor]
) -> Optional[bool]:
    """What the target's own `same` says; None where it has none or cannot take these tensors."""
    try:
        from torch._dynamo.utils import same

        return bool(same(reference, actual, fp64_ref=exact, equal_nan=True))
    except Exception:  # no `same` in this torch, or one that cannot take these tensors
        return None


def _apply_own_rule(
    reference: torch.Tensor,
    actual: torch.Tensor,
    off: Optional[float],
    eager_off: Optional[float],
    computed_in: Optional[torch.dtype],
) -> bool:
    """The same rule from our own numbers; `computed_in` is a coarser dtype that the computation ran
    in.
    """
    if _is_within(actual, reference, _TOLERANCE, _TOLERANCE):
        return True
    if off is None or eager_off is None or math.isnan(off):
        return False
    lenient = reference.dtype in _COARSE or computed_in in _COARSE or reference.numel() < 1000
    return off <= (3.0 if lenient else 2.0) * eager_off + _TOLERANCE / 10.0


def judge_values(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    computed_in: Optional[torch.dtype] = None,
    tie: Optional[IndexedValues] = None,
    random: bool = False,
) -> TensorJudgment:
    """How two tensors compare, element by element.

    Args:
        reference: what eager mode gives, of any shape and dtype.
        actual: what the compiled call gives, of the same shape and dtype.
        exact: the same in float64 or complex128, where it is known.
        computed_in: the dtype that the computation ran in, where it is coarser than the output's.
        tie: what the output indexes (see `probe`), if it is an index.
        random: the program draws random numbers. It may draw others in float64, so that only a
            float64 result near eager's is a judge.

    Returns:
        `same` by the receiving side's rule, `tight` by assert_close's. Errors are absolute;
        `error_vs_fp64` and `eager_error_vs_fp64` are root mean squares over the elements, for
        integers and booleans the share of unequal ones.
    """
    if "float8" in str(reference.dtype):
        reference, actual = reference.float(), actual.float()
        exact = exact.float() if exact is not None else None
        computed_in = computed_in or torch.bfloat16
    equal = find_equal_elements(reference, actual)
    if bool(equal.all()):
        return {"equal": True, "same": True, "tight": True, "max_abs_error": 0.0}
    found: TensorJudgment = {
        "equal": False,
        "same": False,
        "tight": False,
        "max_abs_error": _compute_max_abs(reference, actual),
        "max_ulp": _compute_max_ulp(reference, actual),
        "rms_error": _compute_rmse(actual, reference),
        "mismatched": int((~equal).sum().item()),
        "elements": reference.numel(),
    }
    if exact is not None and exact.shape != reference.shape:
        exact = None
    if exact is not None and random:
        exact = exact if _is_inexact(reference) and _is_near(reference, exact) else None
    if exact is not None:
        found["eager_exact"] = _is_exact(reference[~equal], actual[~equal], exact[~equal])
    if _is_inexact(reference):
        return _judge_floats(reference, actual, exact, computed_in, found)
    return _judge_integers(reference, actual, exact, tie, found)


def _is_exact(reference: torch.Tensor, actual: torch.Tensor, exact: torch.Tensor) -> bool:
    """Whether the elements are those of `exact`, rounded, all three are finite, and many of them
    are different: equal ones may all hang on one rounding.
    """
    finite = all(bool(torch.isfinite(side).all()) for side in (reference, actual, exact))
    if not finite or not torch.equal(reference, exact.to(reference.dtype)):
        return False
    return len(set(reference[:_MANY_LOOKED_AT].tolist())) >= _MANY


def _is_near(reference: torch.Tensor, exact: torch.Tensor) -> bool:
    """Whether float64 computed the same thing: off by rounding, not by other random numbers."""
    return _compute_rmse(reference, exact) <= _RANDOM_NEAR * _compute_rms(exact)


def _select_finite(
    reference: torch.Tensor, actual: torch.Tensor, exact: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
    """The elements that are finite on all sides, where the others (masked logits) agree; else no
    float64 result.
    """
    odd = ~(torch.isfinite(reference) & torch.isfinite(actual) & torch.isfinite(exact))
    if not bool(odd.any()):
        return reference, actual, exact
    if bool(odd.all()) or not bool(find_equal_elements(reference, actual)[odd].all()):
        return reference, actual, None
    return reference[~odd], actual[~odd], exact[~odd]


def _find_overflowed(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: torch.Tensor,
    computed_in: Optional[torch.dtype],
) -> torch.Tensor:
    """Where eager is infinite or NaN for want of range, and the compiled value is float64's: what
    an intermediate result in half precision does, and one in float32 does not. Or where eager is
    NaN, and the two others are the same infinity: what a limit of the function is computed from.
    """
    eps = max(torch.finfo(dtype).eps for dtype in (reference.dtype, computed_in) if dtype)
    near = max(1e-3, 10 * eps)
    over = ~torch.isfinite(reference) & torch.isfinite(actual) & torch.isfinite(exact)
    over |= torch.isnan(reference) & torch.isinf(exact)
    return over & torch.isclose(widen_values(actual), widen_values(exact), rtol=near, atol=near)


def _judge_integers(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    tie: Optional[IndexedValues],
    found: TensorJudgment,
) -> TensorJudgment:
    """Of booleans, too."""
    if exact is not None:
        found["error_vs_fp64"] = float((actual != exact).double().mean().item())
        found["eager_error_vs_fp64"] = float((reference != exact).double().mean().item())
        nearer = found["error_vs_fp64"] <= found["eager_error_vs_fp64"]
        nearer = nearer and _compute_max_abs(actual, exact) <= _compute_max_abs(reference, exact)
        found["same"] = nearer and found["eager_error_vs_fp64"] > 0
    if tie is not None and _is_tied(reference, actual, tie):
        found["same"] = found["tied"] = True
    return found


def _judge_floats(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    computed_in: Optional[torch.dtype],
    found: TensorJudgment,
) -> TensorJudgment:
    """Of complex numbers, too: what rounding does not explain is counted and set aside, then the
    rule is asked about the other elements.
    """
    _count_nan_and_inf(reference, actual, found)
    rtol, atol = ASSERT_CLOSE.get(reference.dtype, (1e-3, 1e-3))
    found["tight"] = _is_within(actual, reference, rtol, atol)
    off_where_overflowed = None
    if exact is not None:
        over = _find_overflowed(reference, actual, exact, computed_in)
        if bool(over.any()):
            found["overflowed"] = int(over.sum().item())
            held = over & torch.isfinite(exact)
            off_where_overflowed = _compute_rmse(actual[held], exact[held])
            reference, actual, exact = reference[~over], actual[~over], exact[~over]
    moved = torch.isnan(reference) != torch.isnan(actual)
    found["nan_moved"] = int(moved.sum().item())
    if found["nan_moved"]:
        found["max_abs_beside_nan"] = _compute_max_abs(reference[~moved], actual[~moved])
    if exact is not None:
        reference, actual, exact = _select_finite(reference, actual, exact)
    is_same = _apply_rule(reference, actual, exact, computed_in, found)
    found["same"] = is_same and not found["nan_moved"]
    if off_where_overflowed is not None:
        found["eager_error_vs_fp64"] = math.inf
        found["error_vs_fp64"] = max(found.get("error_vs_fp64", 0.0), off_where_overflowed)
    return found


def _count_nan_and_inf(
    reference: torch.Tensor, actual: torch.Tensor, found: TensorJudgment
) -> None:
    """Adds the counts of both sides where either has any."""
    nan = [int(torch.isnan(t).sum().item()) for t in (reference, actual)]
    inf = [int(torch.isinf(t).sum().item()) for t in (reference, actual)]
    if any(nan):
        found["nan"] = nan
    if any(inf):
        found["inf"] = inf


def _apply_rule(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    computed_in: Optional[torch.dtype],
    found: TensorJudgment,
) -> bool:
    """What the target's rule says, or ours where it has none or knows of no coarser dtype; adds how
    far both sides are from float64.
    """
    off = eager_off = None
    if exact is not None:
        off, eager_off = _compute_rmse(actual, exact), _compute_rmse(reference, exact)
        found["error_vs_fp64"], found["eager_error_vs_fp64"] = off, eager_off
        if exact.numel():
            found["scale"] = _compute_rms(exact)
    same = _ask_target(reference, actual, exact)
    if same is None or not same and computed_in in _COARSE:
        same = _apply_own_rule(reference, actual, off, eager_off, computed_in)
    return same and not _is_small_and_off(found, computed_in or reference.dtype)


def _is_small_and_off(found: TensorJudgment, dtype: torch.dtype) -> bool:
    """Whether values that are too small for an absolute tolerance are wrong."""
    scale, off = found.get("scale", 0.0), found.get("error_vs_fp64", 0.0)
    if not _TINY * torch.finfo(dtype).tiny < scale < _TOLERANCE:
        return False
    least, most = _SMALL_AND_OFF
    return least < off / scale < most and off > _FARTHER * found["eager_error_vs_fp64"]


def _is_tied(reference: torch.Tensor, actual: torch.Tensor, tie: IndexedValues) -> bool:
    """Whether two index tensors choose equal values.

    Values are equal within what rounding may do to them; under a stable sort exact ties have one
    right order, and an index may not appear twice where eager has it once.

    Args:
        reference: int64, of as many dimensions as the values, or of one less where `dim` is
            reduced.
        actual: int64, of the same shape; an index that is out of range is never tied.
        tie: its `values` are on the device of the indices.
    """
    values, dim = tie["values"], int(tie["dim"])
    a, b = reference, actual
    if a.dim() == values.dim() - 1:
        a, b = a.unsqueeze(dim), b.unsqueeze(dim)
    size = values.shape[dim] if values.dim() else 1
    if a.dim() != values.dim() or bool(((b < 0) | (b >= size)).any()):
        return False
    one, two = values.gather(dim, a), values.gather(dim, b)
    if tie.get("stable") and bool((find_equal_elements(one, two) & (a != b)).any()):
        return False
    if a.shape[dim] > 1 and not torch.equal(*(_count_repeats(t, dim) for t in (a, b))):
        return False
    if not _is_inexact(values):
        return bool(find_equal_elements(one, two).all())
    tolerance = _TOLERANCE
    if values.is_floating_point():
        tolerance = max(tolerance, 4 * torch.finfo(values.dtype).eps)
    # of values that are all small, like probabilities of many words, nearly all are that near
    scale = min(1.0, float(values.abs().nan_to_num(0.0, 0.0).max().item()))
    return _is_within(two, one, tolerance, tolerance * scale)


def _count_repeats(index: torch.Tensor, dim: int) -> torch.Tensor:
    """How many neighbors are equal once sorted: zero for a permutation or a selection."""
    ordered = index.sort(dim).values
    return (ordered.diff(dim=dim) == 0).sum(dim)

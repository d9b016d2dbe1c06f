"""How far a variation of eager mode moves its results, beside how far the compiled one is off.

Both are comparisons with eager: a variation excuses a difference only where it moves all of it.
"""

from __future__ import annotations

import math

from collectors.protocol.comparison import Comparison, ValueDifference
from collectors.protocol.repro_words import Property
from reporter.diagnose.comparisons import list_significant_differences

#: Eager must move by so much of the compiled error, by itself or with its inputs' last bits, to
#: excuse it.
_AS_FAR = 0.5
#: Where the compiled result is infinite, last bits of the inputs must make so many of its elements
#: NaN in eager: around the edge of an operator's domain, as of a logarithm, half of them stay in.
_ACROSS_EDGE = 0.25
#: Sizes that may depend on values, as those of `nonzero` and `unique` do.
SIZES = frozenset({Property.SHAPE, Property.STRUCTURE})


def _locate(item: ValueDifference) -> str:
    """Inputs and gradients are numbered among those that differ; their labels stay."""
    return item.get("label") or item["where"]


def _find_size_changes(comparison: Comparison | None) -> set[str]:
    """The places whose sizes differ."""
    metadata = comparison["metadata"] if comparison else ()
    return {item["where"] for item in metadata if item["property"] in SIZES}


def moves(varied: Comparison | None, comparison: Comparison | None) -> bool:
    """Whether a variation of eager moves every part of the result that is to be excused.

    Args:
        varied: the variation held against eager.
        comparison: the compiled call held against eager; True where either is None.
    """
    if varied is None or comparison is None:
        return True
    resized = _find_size_changes(varied)
    elsewhere = {item["where"] for item in varied["metadata"]}
    moved = {_locate(item) for item in varied["values"]} | resized
    values = {_locate(item) for item in list_significant_differences(comparison)}
    python = {i["where"] for i in comparison["metadata"] if i["property"] == Property.PYTHON_VALUE}
    if not values and not comparison["metadata"]:
        values = {_locate(item) for item in comparison["values"]}
    return _find_size_changes(comparison) <= resized and values <= moved and python <= elsewhere


def find_shift(varied: Comparison | None, comparison: Comparison) -> str | None:
    """How far a variation of eager is from eager, in words; None if not nearly as far everywhere as
    the compiled result is off.

    Both the largest error and the mean square count: one element at a threshold excuses no whole
    tensor. Where eager's sizes move with their values, so may the compiled call's.
    """
    if varied is None or not moves(varied, comparison):
        return None
    resized = _find_size_changes(varied)
    found = {_locate(item): item for item in varied["values"]}
    shifts = []
    for item in list_significant_differences(comparison):
        if item["where"] in resized:
            continue
        other = found.get(_locate(item))
        if other is None or not _is_as_far(other, item):
            return None
        shifts.append(other["max_abs_error"])
    if any(map(math.isnan, shifts)):
        return "to NaN, or from it"
    if shifts:
        return f"by {max(shifts):.3g}"
    return "to another size" if resized and _find_size_changes(comparison) else None


def _is_as_far(moved: ValueDifference, off: ValueDifference) -> bool:
    if "missing" in off:  # what is not there is off by no number
        return False
    if off.get("nan_moved"):
        moves_nan = moved.get("nan_moved", 0) >= _AS_FAR * off["nan_moved"]
        return moves_nan and _find_largest(moved) >= _AS_FAR * _find_largest(off)
    if moved.get("nan_moved") and math.isinf(off.get("max_abs_error") or 0.0):
        crosses = moved["nan_moved"] >= _ACROSS_EDGE * max(off.get("inf") or (math.inf,))
        return crosses and moved["mismatched"] >= _AS_FAR * off["mismatched"]
    largest, square = moved.get("max_abs_error") or 0.0, moved.get("rms_error") or 0.0
    return (
        largest > 0
        and largest >= _AS_FAR * (off.get("max_abs_error") or 0.0)
        and square >= _AS_FAR * (off.get("rms_error") or 0.0)
    )


def _find_largest(item: ValueDifference) -> float:
    """The largest error of the elements that are not NaN on one side alone."""
    return item.get("max_abs_beside_nan", item.get("max_abs_error", 0.0))

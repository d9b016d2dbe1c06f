"""What a comparison of two runs says, in words, and the difference in it that matters most."""

from __future__ import annotations

import re

from collectors.protocol.comparison import (
    Comparison,
    MetadataDifference,
    TensorRole,
    ValueDifference,
)
from collectors.protocol.repro_words import Property
from reporter.recording import side_effects


def drop_metadata(comparison: Comparison) -> Comparison:
    """The same comparison of values alone: float64 is another dtype by itself."""
    return side_effects.replace_metadata(comparison, [])


def describe(comparison: Comparison | None) -> str:
    """The worst difference in a few words."""
    if comparison is None or comparison["equal"]:
        return ""
    if comparison["metadata"]:
        first = find_gravest_difference(comparison)
        if side_effects.is_state(first):
            return f"{first['where']}: {first['eager']} in eager, {first['compiled']} compiled"
        return (
            f"{first['where']}: {first['property']} {first['eager']} in eager, {first['compiled']}"
            " compiled"
        )
    worst = find_worst_value(comparison)
    if worst is None:
        return ""
    if "missing" in worst:
        other = "the compiled" if worst["missing"] == "eager" else "eager"
        what = "call" if worst["property"] == TensorRole.TANGENT else "backward pass"
        return f"{worst['where']}: only {other} {what} gives one"
    text = f"{worst['where']}: max abs error {worst.get('max_abs_error', float('nan')):.4g}"
    if worst.get("nan_moved"):
        nans = worst.get("nan") or (0, 0)
        text += f"; {nans[0]} NaN in eager, {nans[1]} compiled"
    if worst.get("tied"):
        text += "; indices differ only where the values tie"
    elif worst.get("max_ulp") is None and "mismatched" in worst:
        text += f"; {worst['mismatched']} of {worst['elements']} elements"
    if worst.get("max_ulp") is not None and "error_vs_fp64" in worst:
        text += (
            f"; off float64 by {worst['error_vs_fp64']:.3g} (rms), eager by"
            f" {worst['eager_error_vs_fp64']:.3g}"
        )
    return text


def describe_against_float64(comparison: Comparison) -> str:
    """The worst value of an operator in eager mode, held against its run in float64."""
    worst = find_worst_value(comparison)
    if worst is None:
        return "against float64"
    if worst.get("nan_moved"):
        exact, eager = worst.get("nan") or (0, 0)
        said = f"{eager} NaN of {worst['elements']} elements, in float64 {exact or 'none'}"
    else:
        said = f"off float64 by {worst.get('max_abs_error', float('nan')):.4g} at most"
    return f"{worst['where']}: {said}"


#: Properties beside values, the gravest first: what comes earlier makes the later ones unclear.
_GRAVITY = (
    *(Property.STRUCTURE, Property.TYPE, Property.SHAPE, Property.DTYPE, Property.DEVICE),
    *(Property.REQUIRES_GRAD, Property.SIDE_EFFECT, Property.PYTHON_VALUE),
    *(Property.IS_LEAF, Property.ALIAS, Property.STRIDE),
)


def find_gravest_difference(comparison: Comparison) -> MetadataDifference:
    """The first of the gravest differences beside values; there must be one."""
    return min(comparison["metadata"], key=lambda item: _GRAVITY.index(item["property"]))


def list_significant_differences(comparison: Comparison) -> list[ValueDifference]:
    """The values that are not within rounding."""
    return [item for item in comparison["values"] if not item["same"]]


#: What of a comparison is a derivative.
DERIVATIVE_ROLES = (TensorRole.GRADIENT, TensorRole.TANGENT)


def is_of_tangents(comparison: Comparison | None) -> bool:
    """Whether all values that are not within rounding are derivatives in forward mode."""
    wrong = list_significant_differences(comparison) if comparison is not None else []
    return bool(wrong) and all(item["property"] == TensorRole.TANGENT for item in wrong)


def find_worst_value(comparison: Comparison) -> ValueDifference | None:
    """The value difference to report: the first one the rule minds, else the largest."""
    values = comparison["values"]
    minded = list_significant_differences(comparison) or values
    return max(minded, key=lambda item: item.get("max_abs_error") or 0.0) if minded else None


def list_wrong_outputs(comparison: Comparison | None) -> tuple[int, ...]:
    """The positions of the outputs, from 0, that differ in more than rounding."""
    if comparison is None:
        return ()
    places = [item["where"] for item in comparison["metadata"]]
    places += [item["where"] for item in list_significant_differences(comparison)]
    found = (re.fullmatch(r"output (\d+)", place) for place in places)
    return tuple(sorted({int(each[1]) for each in found if each is not None}))

"""What comparing tensors shows."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict

from .repro_words import Property, Text
from .words import BatchCloseness, Closeness


class MetadataDifference(TypedDict):
    """Something about an output other than its values."""

    #: `output 0`, `changed input 0`, `gradient 0`, `tangent 0`, `outputs`, `Python state 0`.
    where: str
    property: Property
    #: Both as text.
    eager: str
    compiled: str


class TensorRole(Text):
    """What the tensor is to the call whose values differ."""

    OUTPUT = "value"
    CHANGED_INPUT = "changed input"
    GRADIENT = "gradient"
    #: The derivative in forward mode of an output.
    TANGENT = "tangent"


class TensorNumbers(TypedDict, total=False):
    """How far apart two tensors are (`call.tolerance.judge_values`)."""

    #: Within the tolerances of `torch.testing.assert_close`.
    tight: bool
    max_abs_error: float
    #: In units in the last place; None where that has no meaning.
    max_ulp: Optional[float]
    #: Root mean square of compiled against eager.
    rms_error: float
    #: Elements that are not equal.
    mismatched: int
    elements: int
    #: Root mean squares; for integers and booleans the share of unequal elements, 0 to 1.
    error_vs_fp64: float
    eager_error_vs_fp64: float
    #: Root mean square of the values in float64.
    scale: float
    #: Counts in [eager, compiled]; missing where there are none.
    nan: List[int]
    inf: List[int]
    #: Elements that are NaN on one side alone.
    nan_moved: int
    #: The largest error of the others, where there are such elements.
    max_abs_beside_nan: float
    #: Elements where eager is not finite, while float64 and a compiled value close to it are.
    overflowed: int
    #: Indices that differ only where what they index ties.
    tied: bool
    #: Whether eager is float64's value, rounded, in every element that is not equal, all sides are
    #: finite there, and it has eight different values or more.
    eager_exact: bool


class TensorJudgment(TensorNumbers):
    """Whether they count as the same."""

    #: No difference at all, NaN being equal to NaN.
    equal: bool
    #: None that the receiving side's rule minds.
    same: bool


class _ValueDifference(TensorJudgment):
    #: `output 0`, `changed input 0`, `gradient 0`, `tangent 0`.
    where: str
    property: TensorRole


class ValueDifference(_ValueDifference, total=False):
    """The values of one tensor that differ."""

    #: Name of the changed input or of what the gradient is of; private.
    label: str
    #: The side that gives no gradient, or no tangent.
    missing: Literal["eager", "compiled"]


class Comparison(TypedDict):
    """All differences between two snapshots of a call (`call.comparison.compare`)."""

    #: Version of the rule.
    rule: int
    equal: bool
    same: bool
    tight: bool
    metadata: List[MetadataDifference]
    values: List[ValueDifference]


class BatchComparison(TypedDict):
    """The outputs of two programs for another number of rows than the call has."""

    size: int
    how: BatchCloseness


class ListComparison(TypedDict, total=False):
    """How alike the tensors of two programs are (`call.closeness.compare_lists`)."""

    how: Closeness
    #: Of the first program's tensors.
    count: int
    max_abs_error: float
    #: Where there are not as many.
    detail: str


class OperatorComparison(TypedDict):
    """What reached the dispatcher in two runs."""

    same: bool
    #: Of the first run.
    count: int
    #: Operator -> [before, after], where they differ.
    changed: Dict[str, List[int]]

"""The sections of what was measured on the recorded call: the rungs of the ladder, and the tensors
that differ.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from reporter.core.kinds import RungOutcome
from reporter.report.sections.base import ErrorValue, Section


class RungRow(Section, frozen=True):
    """One variation of the recorded call; the root mean squares are against eager in float64."""

    rung: str
    outcome: RungOutcome
    detail: str = ""
    max_abs_error: ErrorValue = None
    error_vs_fp64: ErrorValue = None
    eager_error_vs_fp64: ErrorValue = None
    seconds: float | None = None


class ValueRow(Section, frozen=True, kw_only=True):
    """One tensor that differs: `output 0`, `changed input 0`, `gradient 0`; what could not be
    measured is left out.

    `nan` and `inf` count the elements of (eager, compiled).
    """

    where: str
    property: str
    #: whether the rule takes it for rounding
    same: bool
    max_abs_error: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    #: in units in the last place
    max_ulp: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    error_vs_fp64: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    eager_error_vs_fp64: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    mismatched: int | msgspec.UnsetType = msgspec.UNSET
    elements: int | msgspec.UnsetType = msgspec.UNSET
    nan: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET
    inf: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET
    #: the side that gives no gradient
    missing: Literal["eager", "compiled"] | msgspec.UnsetType = msgspec.UNSET
    #: indices that differ only where what they index ties
    tied: bool | msgspec.UnsetType = msgspec.UNSET


class MetadataRow(Section, frozen=True, kw_only=True):
    """Something about a tensor other than its values: shape, dtype, stride, alias, …"""

    where: str
    property: str
    eager: str
    compiled: str


class MeasurementSection(Section, frozen=True, kw_only=True):
    """The rule's numbers for every output, changed input and gradient that differs."""

    rule: int | None
    reference: str | None
    values: tuple[ValueRow, ...] = ()
    metadata: tuple[MetadataRow, ...] = ()

"""The sections about a whole model that was rewritten: that it computes the same, and what it needs
beside stock layers.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from reporter.report.sections.base import ErrorValue, Section


class ListComparisonSection(Section, frozen=True, kw_only=True):
    """How alike the tensors of the private program and of the rewritten one are."""

    how: Literal["bitwise", "close", "refereed", "differ", "not compared"]
    count: int | msgspec.UnsetType = msgspec.UNSET
    max_abs_error: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    detail: str | msgspec.UnsetType = msgspec.UNSET


class OperatorSection(Section, frozen=True, kw_only=True):
    """What reached the dispatcher in both; `changed`: operator -> (before, after)."""

    same: bool
    count: int
    changed: dict[str, tuple[int, int]] = {}


class BatchSection(Section, frozen=True, kw_only=True):
    """The outputs of both models for a batch of another size; "raises": only the private one
    accepts it.
    """

    size: int
    how: Literal["bitwise", "close", "refereed", "differ", "not compared", "raises"]

    @property
    def is_same(self) -> bool:
        """Whether the rewritten model holds for it."""
        return self.how not in ("raises", "differ")


class EquivalenceSection(Section, frozen=True, kw_only=True):
    """The proof that a whole model computes the same, and the operators that it has.

    `batch`: the same with one more row, where the private model accepts that.
    `stand_ins`: functions of the repro that stand for private operations, of which nothing is
    claimed; `taken_apart`: what is written as other operators on purpose.
    """

    proved: bool
    rewritten_from: Literal["source"] | msgspec.UnsetType = msgspec.UNSET
    outputs: ListComparisonSection
    gradients: ListComparisonSection
    buffers: ListComparisonSection
    operators: OperatorSection
    batch: BatchSection | msgspec.UnsetType = msgspec.UNSET
    stand_ins: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    taken_apart: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class StockDifference(Section, frozen=True, kw_only=True):
    """What a whole model needs beside stock layers to fail."""

    needs: tuple[str, ...]
    skeleton: str
    tried: int

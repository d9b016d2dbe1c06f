"""The sections with the numbers of the pictures of report.html."""

from __future__ import annotations

from typing import Literal

import msgspec

from reporter.report.sections.base import ErrorValue, Section


class ElementRow(Section, frozen=True, kw_only=True):
    """One element of the worst output; `nan`, `inf` and `-inf` are texts."""

    index: tuple[int, ...]
    eager: bool | int | float | str
    compiled: bool | int | float | str


class ErrorMapSection(Section, frozen=True, kw_only=True):
    """Where the worst output is off; the cells of the map stay in `private/`.

    `step`: rows and columns of the tensor that one cell stands for; `off` of `elements` are not
    close to the reference. `worst` has all elements of a small output, else the worst few.
    """

    output: int
    of: int
    shape: tuple[int, ...]
    step: tuple[int, ...]
    max: ErrorValue
    off: int
    elements: int
    reference: Literal["float64", "eager"]
    worst: tuple[ElementRow, ...] = ()


class BreakLineRow(Section, frozen=True, kw_only=True):
    """A line of repro.py at which Dynamo breaks the graph."""

    line: int
    reason: str


class PathPoint(Section, frozen=True, kw_only=True):
    """Root mean square errors after one operation of the repro's graph, or why there are none."""

    position: int
    operator: str | None
    eager: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    compiled: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    reference: str | None | msgspec.UnsetType = msgspec.UNSET
    error: str | None = None


class PathSection(Section, frozen=True, kw_only=True):
    """The errors along graph number `graph` of the repro, which has `of` operations."""

    graph: int
    of: int
    points: tuple[PathPoint, ...]


class PictureSection(Section, frozen=True, kw_only=True):
    """The numbers of the pictures of report.html, measured on the finished repro."""

    error_map: ErrorMapSection | msgspec.UnsetType = msgspec.UNSET
    graph_breaks: tuple[BreakLineRow, ...] | msgspec.UnsetType = msgspec.UNSET
    graphs: int | msgspec.UnsetType = msgspec.UNSET
    divergence: PathSection | msgspec.UnsetType = msgspec.UNSET

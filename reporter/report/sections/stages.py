"""The section of what the stages of a run used."""

from __future__ import annotations

from reporter.report.sections.base import Section


class StageRow(Section, frozen=True, kw_only=True):
    """What one stage of a run used; a report of schema version 1 tells the wall seconds alone.

    `wall` and `cpu` are seconds, `cpu` those of all processors together; `compilations` counts the
    frames that Dynamo compiled or tried to.
    """

    wall: float
    cpu: float | None = None
    compilations: int | None = None
    processes: int | None = None

"""The sections of what torch's own debugging tools say of the repro."""

from __future__ import annotations

from typing import Literal

import msgspec

from reporter.report.sections.base import Section
from reporter.report.sections.triton import GeneratedKernelsSection


class CollectorRow(Section, frozen=True, kw_only=True):
    """One of torch's debugging tools; `bytes` is the size of its files."""

    collector: str
    outcome: Literal["ok", "skipped"]
    reason: str
    seconds: float
    bytes: int


class PublicBreak(Section, frozen=True, kw_only=True):
    """A graph break of the repro, in torch's words, and how often it was met."""

    reason: str
    count: int


class EvidenceSection(Section, frozen=True, kw_only=True):
    """What torch's own tools say of the repro; without an `excerpt`, `no_excerpt` says why."""

    seconds: float
    collectors: tuple[CollectorRow, ...] = ()
    compile_seconds: dict[str, float] = {}
    graphs: int | None = None
    operations: tuple[int, ...] = ()
    graph_breaks: tuple[PublicBreak, ...] = ()
    recompiles: int = 0
    vector_isa: str | None = None
    excerpt: str | None = None
    no_excerpt: str = ""
    triton_kernels: GeneratedKernelsSection | msgspec.UnsetType = msgspec.UNSET

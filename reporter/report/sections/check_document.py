"""The document of `check --json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from reporter.core.kinds import CheckOutcome
from reporter.report.sections.base import Section
from reporter.report.sections.verdict import FailureSection

CHECK_VERSION: Literal[1] = 1


class CheckRow(Section, frozen=True, kw_only=True):
    """What one repro does in one place; `runs` = (runs that showed the outcome, runs)."""

    repro: str
    key: str
    release: str
    torch: str
    python: str
    outcome: CheckOutcome
    detail: str
    seconds: float = 0.0
    runs: tuple[int, int] = (0, 0)
    build: str = ""
    git: str | None = None
    signature: FailureSection | None = None
    issue: str = ""
    time: str = ""


class ChangeRow(Section, frozen=True, kw_only=True):
    """A cell that shows something else than the last time; `key` is that of its repro, of which
    others may have the name.
    """

    key: str
    repro: str
    torch: str
    release: str
    before: CheckOutcome
    now: CheckOutcome


class CommentRow(Section, frozen=True, kw_only=True):
    """What an issue was told, or why not."""

    repro: str
    issue: str
    outcome: CheckOutcome
    torch: str
    url: str | None = None
    trouble: str | None = None


class CheckDocument(Section, frozen=True, kw_only=True):
    """The document of `check --json`; `comments` are there if issues were to be told."""

    schema_version: Literal[1] = CHECK_VERSION
    results: tuple[CheckRow, ...]
    changes: tuple[ChangeRow, ...] = ()
    comments: tuple[CommentRow, ...] | msgspec.UnsetType = msgspec.UNSET

"""The sections about the failure itself: the verdict, the failure in the form in which others are
compared with it, and its fingerprint.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from reporter.core.kinds import Kind, Layer
from reporter.core.signature import Signature
from reporter.report.sections.base import Section


class Verdict(Section, frozen=True):
    """What it is, where it is, and how often it was seen: `reproduced` = (times seen, times run).

    With a repro the runs are fresh processes; without one they are the script's call and its
    repetitions. `signature` has the kind, the layer, and what tells it from others of these: the
    exception, the property that differs or the signal. `explanation` says what the kind means,
    `command` repeats the measurement. With `is_from_cache` a reused graph came out of the
    compiler's cache, and no guard is missing; with `is_raised_by_exported` a call of the exported
    program raises, which could be made; `derivative` is the one that is wrong in eager mode, a word
    of `anonymizer.kinds.Differentiation`.
    """

    kind: Kind
    layer: Layer
    is_bug: bool
    summary: str
    signature: str = ""
    exception: str | None = None
    message: str | None = None
    reproduced: tuple[int, int] = (0, 0)
    explanation: str = ""
    command: str = ""
    is_from_cache: bool | msgspec.UnsetType = msgspec.UNSET
    is_raised_by_exported: bool | msgspec.UnsetType = msgspec.UNSET
    derivative: str | msgspec.UnsetType = msgspec.UNSET


class OtherFailureSection(Section, frozen=True, kw_only=True):
    """Another failure that was met on the way; `path` is its program below the report folder."""

    kind: Kind
    signature: str
    lines: int
    path: str = ""


class FingerprintSection(Section, frozen=True, kw_only=True):
    """What the same failure has in every report of it; `parts` are what was hashed."""

    value: str
    parts: tuple[str, ...]


class FailureSection(Section, frozen=True, kw_only=True):
    """The crash as a fresh process showed it, in the form in which `check` compares it."""

    kind: Kind
    layer: Layer | None = None
    exception: str | None = None
    message: str | None = None
    frames: tuple[str, ...] = ()
    property: str | None = None
    signal: str | None = None
    #: A text where JSON has no number for it.
    error_ratio: float | Literal["inf", "nan"] | None = None
    undefined: tuple[str, ...] = ()
    version: int = 1

    def to_signature(self) -> Signature:
        """The failure with what compares it to others."""
        ratio = None if self.error_ratio is None else float(self.error_ratio)
        return Signature(**{**msgspec.structs.asdict(self), "error_ratio": ratio})

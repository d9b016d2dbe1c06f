"""The document a run ends in: `report.json`, as frozen dataclasses that are its schema.

Everything else in the folder (issue, page, test) is rendered from this document, so no two of them
can disagree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.core.plain import Json

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Verdict:
    """What it is, where it is, and how often it was seen: `reproduced` = (times seen, times run).

    With a repro the runs are fresh processes; without one they are the script's call and its
    repetitions. `explanation` says what the kind means, `command` repeats the measurement.
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


@dataclass(frozen=True)
class RungRow:
    """One variation of the recorded call.

    Errors are absolute: `max_abs_error` against eager, the other two, as root mean squares, against
    eager in float64. `seconds` is the wall time of the run.
    """

    rung: str
    outcome: RungOutcome
    detail: str = ""
    max_abs_error: float | None = None
    error_vs_fp64: float | None = None
    eager_error_vs_fp64: float | None = None
    seconds: float | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> RungRow:
        """Of a row of the document. Raises TypeError, ValueError, KeyError for anything else."""
        return cls(**{**row, "outcome": RungOutcome(row["outcome"])})


@dataclass(frozen=True)
class Requires:
    """What the repro cannot do without.

    `dynamic` None means the default; `contexts` are context managers.
    """

    backward: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReproInfo:
    """The repro by its numbers; `statements` counts the tensor operations in `forward`, `seconds`
    is wall time.
    """

    path: str
    statements: int
    lines: int
    operators: tuple[str, ...]
    verified_cold: bool
    candidates: int
    seconds: float


@dataclass(frozen=True)
class AuditSummary:
    """The leak check in a form that may leave.

    A report that failed it is never written, so nothing is quoted.
    """

    passed: bool
    terms_checked: int
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Report:
    """`report.json`.

    Without a repro (`diagnose`, or no bug) `repro` and `audit` are left out of the document.

    `differs_from` has a row for each other interpreter in which the repro passes (`torch`,
    `python`, `outcome`); the document leaves it out where there is none.

    `details` holds what else was measured, each part at the top level of the document:
    `measurement` (the rule's numbers per output), `stack`, `missing_guard`, `divergence`,
    `culprit`, `complaints`, and `timing` (wall seconds of the stages, and what all measurements
    would have taken one after another).
    """

    verdict: Verdict
    ladder: tuple[RungRow, ...]
    torch: str
    python: str
    device: str
    requires: Requires = Requires()
    repro: ReproInfo | None = None
    labels: tuple[str, ...] = ()
    other_findings: tuple[Mapping[str, Any], ...] = ()
    audit: AuditSummary | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    differs_from: tuple[Mapping[str, Any], ...] = ()
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> Json:
        """Plain JSON values, `schema_version` first."""
        document = _plain(self)
        assert isinstance(document, dict)
        for name in ("repro", "audit", "differs_from"):
            if not document[name]:
                del document[name]
        details = document.pop("details")
        return {"schema_version": document.pop("schema_version"), **document, **details}

    def dumps(self) -> str:
        """The text of `report.json`."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no NaN, and "inf" is the finding where a result overflowed
    return value

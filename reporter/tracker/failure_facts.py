"""What a report is compared with issues by."""

from __future__ import annotations

from dataclasses import dataclass

from reporter.report.sections.report_document import Report
from reporter.store.reports import StoredReport


@dataclass(frozen=True)
class FailureFacts:
    """A failure as far as issues are compared by it.

    `exception` is the class, or the signal that ended the process; `parts` are those of the
    fingerprint.
    """

    exception: str = ""
    message: str = ""
    operators: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @classmethod
    def from_report(cls, report: Report) -> FailureFacts:
        """What a report says."""
        return cls(
            report.verdict.exception or "",
            report.verdict.message or "",
            report.repro.operators if report.repro else (),
            report.fingerprint.parts if report.fingerprint else (),
        )


@dataclass(frozen=True)
class ReportedFailure:
    """A failure with the labels of its issue and its row of the local store."""

    facts: FailureFacts
    labels: tuple[str, ...]
    stored: StoredReport

    @property
    def marker(self) -> str:
        """What its issue is found by."""
        return f"bugreport-key: {self.stored.key}"

"""What is known long before a report is: the verdict, and the smallest program that fails so far.

Both are said on the screen and lie in `private/` of the output folder as soon as they are known, so
that whoever waits can read on. They stay there: nothing of them has been through the leak check.
"""

from __future__ import annotations

import json
from pathlib import Path

from reporter.core.candidate import Candidate
from reporter.core.progress import Progress
from reporter.report.folder import write_private
from reporter.report.sections.report_document import Report

#: Their names below `private/`.
VERDICT, SMALLEST = "verdict.json", "smallest.py"


class EarlyAnswer:
    """Tells of a run what it knows already.

    Args:
        private: the folder for what stays on this machine; it is there.
    """

    def __init__(self, private: Path, progress: Progress) -> None:
        self._private = private
        self._progress = progress
        self._is_first = True

    def write_verdict(self, report: Report) -> None:
        """The verdict alone, in the form of report.json."""
        write_private(self._private / VERDICT, json.dumps(report.to_json(), indent=2) + "\n")
        said = report.verdict
        self._progress.note(f"verdict: {said.kind}, {said.layer} ({self._private / VERDICT})")

    def write_candidate(self, candidate: Candidate, size: str) -> None:
        """A program that shows the failure, in place of the one before it.

        Args:
            size: in words.
        """
        path = self._private / SMALLEST
        write_private(path, candidate.render())
        if self._is_first:
            self._is_first = False
            self._progress.note(f"a first program that fails: {size} ({path})")

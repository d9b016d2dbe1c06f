"""What fresh processes showed of the final text; only this is reported of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.failure import Failure
from reporter.core.answer import Answer
from reporter.core.candidate import find_failure
from reporter.core.kinds import CandidateOutcome
from reporter.core.signature import Signature
from templates.log import find_last_words
from templates.text import tidy_log


@dataclass(frozen=True)
class FreshAnswers:
    """The answers of fresh processes, and how many of them showed the wanted failure (`hits`).

    `watched` is the folder in which torch's own tools left what they found of the text, where one
    of the processes ran with them.
    """

    answers: tuple[Answer, ...]
    hits: int
    watched: Path | None = None

    @property
    def reproduced(self) -> tuple[int, int]:
        """(runs that showed the failure, runs)."""
        return self.hits, len(self.answers)

    @property
    def failure(self) -> Failure | None:
        """The exception of the first run that raised one; None where none did."""
        return next((answer.failure for answer in self.answers if answer.failure), None)

    @property
    def signal(self) -> str | None:
        """The signal that ended the first run that one ended."""
        return next((answer.signal for answer in self.answers if answer.signal), None)

    def find_crash(self, wanted: Signature) -> Signature | None:
        """The crash as a run showed it, in the form in which `check` compares it on other
        releases.
        """
        shown = (find_failure(answer, wanted) for answer in self.answers if answer.failure)
        return next(shown, None)

    def describe_death(self, summary: str) -> tuple[str, str | None]:
        """A verdict on a process that ended, in words.

        Args:
            summary: the verdict's own sentence.

        Returns:
            That sentence with the exception of eager mode, where the process named one; and the
            last line that a library printed before the end, None where there was none.
        """
        said = next(
            (answer for answer in self.answers if answer.signal), Answer(CandidateOutcome.DIED)
        )
        raised = re.search(r"^eager raises (\w+)$", said.stdout, re.MULTILINE)
        more = f"; eager raises {raised.group(1)}." if raised else "."
        return summary.rstrip(".") + more, find_last_words(tidy_log(said.stderr)) or None

    def find_stacks(self) -> str:
        """What a process wrote before it ended, and Python's stacks at that moment."""
        for answer in self.answers:
            if answer.detail:
                said = tidy_log(answer.stderr).strip()
                return f"{said}\n\n{answer.detail}" if find_last_words(said) else answer.detail
        return ""

"""What one run of a candidate did, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from collectors.protocol.failure import Failure, FailureFrame
from collectors.protocol.variation import BisectCount
from reporter.core.json_values import Json
from reporter.core.kinds import CandidateOutcome

#: What Python, torch's allocator, the C++ library and compilers say when there is no more memory.
_NO_MEMORY = re.compile(
    r"MemoryError|bad_alloc|can(?:'t|not) allocate memory|out of memory|memory exhausted",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """What one run of one candidate did.

    `failure` is the account `collectors.call.failure.describe` gives; `exit` is minus the
    signal's number where a signal ended it; `seconds` is wall time; `detail` holds Python's
    stack for a death or a time-out; `bisect` is what `collectors.call.bisection` counted, if
    asked to; `undefined` is what a program with wrong values has in it that torch leaves
    undefined, or to chance.
    """

    outcome: CandidateOutcome
    failure: Failure | None = None
    signal: str | None = None
    exit: int = 0
    stdout: str = ""
    stderr: str = ""
    detail: str = ""
    seconds: float = 0.0
    bisect: BisectCount | None = None
    undefined: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the program raised, died or did not end; None of the other outcomes tells
        anything of a failure.
        """
        return self.outcome in (
            CandidateOutcome.FAILS,
            CandidateOutcome.DIED,
            CandidateOutcome.TIMEOUT,
        )

    @property
    def exception(self) -> str | None:
        """The class of the exception it ended with; None where it told of none."""
        return self.failure["exception"] if self.failure else None

    @property
    def passed(self) -> bool:
        """Whether the candidate is right: exit code 0 and nothing else."""
        return self.outcome == CandidateOutcome.PASSES

    @property
    def first_line(self) -> str:
        """The line of that exception's text that names the problem; it may be empty."""
        return self.failure["first_line"] if self.failure else ""

    @property
    def message(self) -> str:
        """That exception's text."""
        return self.failure["message"] if self.failure else ""

    @property
    def frames(self) -> list[FailureFrame]:
        """Its frames, outermost first."""
        return self.failure.get("frames") or [] if self.failure else []

    def format_error(self, most: int | None = None) -> str:
        """The exception in one line, its text cut after `most` characters."""
        return f"{self.exception}: {self.first_line[:most]}".rstrip(": ")

    @property
    def out_of_memory(self) -> bool:
        """Whether memory ran out, as far as the process could say so: of an exception its own
        words, else the streams.

        Such an answer tells about the limit and nothing about a bug, though the process may die of
        it by the same signal.
        """
        if self.passed:
            return False
        if self.failure:
            return is_about_memory(f"{self.exception}: {self.message}")
        return is_about_memory(f"{self.stderr}\n{self.stdout}")

    def to_json(self) -> Json:
        """The JSON form, which `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Answer:
        """Read a worker's answer or a journal entry; unknown keys are ignored.

        Raises:
            KeyError, TypeError: it is no answer.
            ValueError: its outcome is none.
        """
        try:
            outcome = CandidateOutcome(data["outcome"])
        except ValueError:
            raise ValueError(f"{data['outcome']!r} is no outcome of a run") from None
        return cls(
            outcome=outcome,
            failure=data.get("failure"),
            signal=data.get("signal"),
            exit=int(data.get("exit", 0)),
            stdout=str(data.get("stdout", "")),
            stderr=str(data.get("stderr", "")),
            detail=str(data.get("detail", "")),
            seconds=float(data.get("seconds", 0.0)),
            bisect=data.get("bisect"),
            undefined=tuple(data.get("undefined") or ()),
        )


def is_about_memory(text: str) -> bool:
    """Whether a message says that there is no memory left."""
    return _NO_MEMORY.search(text) is not None

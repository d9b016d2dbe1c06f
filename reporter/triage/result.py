"""What triage found out about one issue, as data: the document, and the lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from reporter.core.errors import BugreportError, CannotJudgeError
from reporter.core.json_values import Json
from reporter.core.kinds import Word
from reporter.tracker.duplicates import PossibleDuplicate
from reporter.tracker.plain_text import clean_line
from reporter.triage.attempt import AttemptOutcome, Attempts
from reporter.triage.reading.repro_selection import Refusal, Repro
from reporter.triage.reading.stated_failure import Match, StatedFailure
from reporter.triage.reading.thread import Thread
from reporter.triage.sandboxed_verdict import CommandVerdict


class Status(Word):
    """What came out of triage; `WORDS` says it in words."""

    REPRODUCES = "reproduces"
    NOT_REPRODUCED = "not_reproduced"
    DIFFERENT = "different"
    NO_BUG = "no_bug"
    NOT_ACTIONABLE = "not_actionable"
    CANNOT_JUDGE = "cannot_judge"


SCHEMA_VERSION = 1
WORDS: Mapping[Status, str] = {
    Status.REPRODUCES: "it fails as the issue states",
    Status.NOT_REPRODUCED: "it does not fail here as the issue states",
    Status.DIFFERENT: "it fails here, but not as the issue states",
    Status.NO_BUG: "what it shows is no bug of the compiler",
    Status.NOT_ACTIONABLE: "there is nothing to run",
    Status.CANNOT_JUDGE: "it could not be judged here",
}


@dataclass(frozen=True)
class MinimalRepro:
    """The reduced program and what fresh processes showed of it: by torch version, `fails`,
    `passes` or `cannot_judge`.
    """

    text: str
    statements: int
    operators: tuple[str, ...]
    seen: Mapping[str, AttemptOutcome]


@dataclass(frozen=True)
class Triage:
    """An issue, judged.

    `sentence` says why the status is what it is; `contained` is False where the user trusted the
    code. `control` are runs of the program without the compiler. `posting_error` is why the comment
    could not be posted.
    """

    thread: Thread
    status: Status
    sentence: str
    stated: StatedFailure
    repro: Repro | None = None
    refusal: Refusal | None = None
    runs: tuple[Attempts, ...] = ()
    judged: CommandVerdict | None = None
    minimal: MinimalRepro | None = None
    duplicates: tuple[PossibleDuplicate, ...] = ()
    labels: tuple[str, ...] = ()
    comment: str = ""
    notes: tuple[str, ...] = ()
    contained: bool = True
    posted: str | None = None
    posting_error: BugreportError | None = None
    control: Attempts | None = None

    @property
    def exit_code(self) -> int:
        """0: triaged, whatever came out; 125: it could not be judged here; else that of the error
        that kept the comment from being posted.
        """
        if self.posting_error is not None:
            return self.posting_error.exit_code
        return CannotJudgeError.exit_code if self.status == Status.CANNOT_JUDGE else 0

    def to_json(self) -> Json:
        """The document of --json."""
        repro = asdict(self.repro) if self.repro is not None else None
        return {
            "schema_version": SCHEMA_VERSION,
            "issue": {
                "name": self.thread.name,
                "title": self.thread.title,
                "url": self.thread.address.url if self.thread.address else None,
                "state": self.thread.status.state,
                "comments": max(0, len(self.thread.posts) - 1),
            },
            "status": self.status,
            "sentence": self.sentence,
            "refusal": self.refusal.to_json() if self.refusal is not None else None,
            "stated": {
                "sort": self.stated.sort,
                "text": self.stated.describe(),
                "torch": self.stated.torch,
            },
            "repro": repro,
            "sandbox": self.contained,
            "runs": [runs.to_json() for runs in self.runs],
            "control": self.control.to_json() if self.control is not None else None,
            "verdict": self.judged.to_json() if self.judged is not None else None,
            "minimal": asdict(self.minimal) if self.minimal is not None else None,
            "duplicates": [candidate.to_json() for candidate in self.duplicates],
            "labels": list(self.labels),
            "comment": self.comment,
            "posted": self.posted,
            "posting_error": (
                {"exit_code": self.posting_error.exit_code, "message": str(self.posting_error)}
                if self.posting_error is not None
                else None
            ),
            "notes": list(self.notes),
        }

    def summarize(self) -> list[str]:
        """What a person reads: every text of a stranger on one clean line, but for programs, whose
        lines stay.
        """
        lines = [f"{self.thread.name}: {WORDS[self.status]}", self.sentence, ""]
        lines.append(
            f"stated:  {clean_line(self.stated.describe(), 160)}"
            + (f" (torch {self.stated.torch})" if self.stated.torch else "")
        )
        if self.repro is not None:
            lines.append(
                f"repro:   {self.repro.reason}, {len(self.repro.text.splitlines())} lines, post"
                f" {self.repro.post + 1}"
            )
            lines += [f"         {change}" for change in self.repro.changes]
            lines += [
                f"careful: line {flag.line}: {flag.kind}: {clean_line(flag.what)}"
                for flag in self.repro.flags
            ]
        for runs in self.runs:
            shown = runs.decisive
            failure = f": {clean_line(shown.failure, 160)}" if shown.failure else ""
            lines.append(f"torch {runs.torch}: {_describe(runs)}{failure}")
        if self.control is not None:
            lines.append(f"without the compiler: {_describe(self.control)}")
        if self.judged is not None:
            lines.append(_render_verdict(self.judged))
        if self.minimal is not None:
            lines += [
                "",
                f"reduced to {self.minimal.statements} tensor operation(s):",
                "",
                *self.minimal.text.rstrip().split("\n"),
            ]
        for candidate in self.duplicates:
            lines.append(
                f"maybe the same: {candidate.url} {clean_line(candidate.title)}"
                f" ({'; '.join(candidate.reasons)})"
            )
        lines += [f"note:    {clean_line(note, 300)}" for note in self.notes]
        if self.labels:
            lines.append(f"labels:  {', '.join(self.labels)}")
        if self.comment:
            lines += ["", "suggested comment:", "", *self.comment.rstrip().split("\n")]
        if self.posted:
            lines += ["", f"posted: {self.posted}"]
        if self.posting_error is not None:
            lines += ["", f"not posted: {self.posting_error}"]
        return lines


def _describe(runs: Attempts) -> str:
    shown = runs.decisive
    words = {
        AttemptOutcome.HANGS: "does not end",
        AttemptOutcome.STOPPED: shown.detail,
        AttemptOutcome.CANNOT_JUDGE: "says that it cannot judge",
    }.get(shown.outcome, shown.outcome)
    if runs.of > 1:
        words += f" ({runs.failed} of {runs.of} runs failed)"
    return words + {Match.SAME: ", as stated", Match.DIFFERENT: ", not as stated"}.get(
        shown.match or Match.UNCLEAR, ""
    )


def _render_verdict(judged: CommandVerdict) -> str:
    if judged.trouble:
        return f"verdict: none ({judged.trouble})"
    where = f" in {judged.layer}" if judged.is_bug else " (no bug to report)"
    return f"verdict: {judged.kind}{where}: {judged.summary}"

"""How an attempt to file ended, the same facts as a document and as lines for people."""

from __future__ import annotations

from dataclasses import dataclass, field

from reporter.core.json_values import Json
from reporter.core.kinds import Word
from reporter.tracker.duplicates import Duplicates, PossibleDuplicate
from reporter.tracker.manual_form import ManualForm
from reporter.tracker.repository import Repository
from reporter.tracker.submission import Submission
from templates.text import pluralize

SCHEMA_VERSION = 1
DECLINED = 130


class FilingAction(Word):
    """What became of an attempt to file."""

    FILED = "filed"
    COMMENTED = "commented"
    ALREADY_FILED = "already_filed"
    #: Nothing was sent: only shown, left to the web form, or a person said no.
    DRY_RUN = "dry_run"
    WEB = "web"
    DECLINED = "declined"


@dataclass(frozen=True)
class WantedFields:
    """What was asked for beside the text, and what the tracker made of it; `given` is None where
    nobody looked.
    """

    asked: tuple[str, ...] = ()
    given: tuple[str, ...] | None = None

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the tracker left out without saying so.

        Names compare without regard to case, as they do there.
        """
        if self.given is None:
            return ()
        known = {name.lower() for name in self.given}
        return tuple(name for name in self.asked if name.lower() not in known)

    def to_json(self) -> Json:
        """The entry of the document."""
        given = None if self.given is None else list(self.given)
        return {"asked": list(self.asked), "given": given, "dropped": list(self.dropped)}


@dataclass(frozen=True)
class FilingResult:
    """An issue or a comment is there."""

    action: FilingAction
    repository: Repository
    draft: Submission
    number: int
    url: str
    labels: WantedFields = WantedFields()
    assignees: WantedFields = WantedFields()
    duplicates: Duplicates = Duplicates()
    log_url: str | None = None
    notes: tuple[str, ...] = ()
    exit_code: int = 0

    def to_json(self) -> Json:
        """The document of --json."""
        return {
            **_build_head(self.action, self.repository, self.draft),
            "number": self.number,
            "url": self.url,
            "labels": self.labels.to_json(),
            "assignees": self.assignees.to_json(),
            "log_url": self.log_url,
            "duplicates": [item.to_json() for item in self.duplicates.candidates],
            "notes": [*self.notes, *self.duplicates.trouble],
        }

    def summarize(self) -> list[str]:
        """What a person reads at the end; the address stands first, for scripts that take the first
        line.
        """
        said = {
            FilingAction.FILED: f"filed as {self.repository}#{self.number}",
            FilingAction.COMMENTED: f"commented on {self.repository}#{self.number}",
            FilingAction.ALREADY_FILED: (
                f"this report is already there as {self.repository}#{self.number}; nothing was sent"
            ),
        }
        lines = [self.url, said[self.action]]
        lines += [f"the error log: {self.log_url}"] if self.log_url else []
        for wanted, what in ((self.labels, "labels"), (self.assignees, "assignees")):
            if wanted.dropped:
                lines.append(
                    f"{self.repository.host} dropped the {what} {', '.join(wanted.dropped)}: only"
                    " people with triage rights can set them"
                )
        lines += [f"note: {note}" for note in self.notes]
        return [*lines, "next: `bugreport sync` asks what has become of it"]


@dataclass(frozen=True)
class PreviewResult:
    """Nothing was sent: a dry run, the web form, or a person who said no.

    `lines` is what they read.
    """

    action: FilingAction
    repository: Repository
    draft: Submission
    lines: tuple[str, ...] = ()
    form: ManualForm | None = None
    would_send: Json = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """`DECLINED` where a person said no, else 0."""
        return DECLINED if self.action == FilingAction.DECLINED else 0

    def to_json(self) -> Json:
        """The document of --json."""
        document = _build_head(self.action, self.repository, self.draft)
        if self.form is not None:
            document["url"] = self.form.url
            document["sections"] = [
                {"heading": heading, "text": text} for heading, text in self.form.sections
            ]
        if self.would_send:
            document["would_send"] = self.would_send
        return {**document, "notes": list(self.notes)}

    def summarize(self) -> list[str]:
        """What a person reads at the end."""
        return [*self.lines, *(f"note: {note}" for note in self.notes)]


def build_decline(repository: Repository, draft: Submission) -> PreviewResult:
    """The end where a person said no."""
    return PreviewResult(FilingAction.DECLINED, repository, draft, ("nothing was sent",))


def render_submission(
    repository: Repository, draft: Submission, labels: tuple[str, ...], assignees: tuple[str, ...]
) -> list[str]:
    """Exactly what leaves, between rules, with where it goes.

    Args:
        repository: the project.
        draft: the title, the body and the log, of which the sizes are given in bytes.
        labels: those that the issue gets, in the place of the draft's.
        assignees: user names.

    Returns:
        Lines without their ends.
    """
    bytes_of_body, bytes_of_log = (len(each.encode()) for each in (draft.text.body, draft.text.log))
    lines = [
        f"── what leaves, to {repository.url} ──",
        f"title:     {draft.text.title}",
        f"labels:    {', '.join(labels) or 'none'}",
        f"assignees: {', '.join(assignees) or 'none'}",
        f"body:      {bytes_of_body:,} bytes",
        "",
        *draft.text.body.rstrip().split("\n"),
    ]
    if draft.text.log:
        lines += [
            "",
            f"── and as the first comment, the error log ({bytes_of_log:,} bytes) ──",
            *draft.text.log.rstrip().split("\n"),
        ]
    lines.append("── end of what leaves ──")
    return [*lines, *(draft.recognizable.render_lines() if draft.recognizable else ())]


def render_duplicates(found: Duplicates) -> list[str]:
    """The candidates with their reasons."""
    lines = [f"note: {trouble}" for trouble in found.trouble]
    if not found.candidates:
        return [*lines, "no issue was found that looks like the same bug"]
    likely = pluralize(len(found.likely), "issue looks", "issues look")
    lines.append(
        f"{likely} like the same bug:" if found.likely else "issues with something in common:"
    )
    return [*lines, *(line for item in found.candidates for line in _render_candidate(item))]


def _render_candidate(item: PossibleDuplicate) -> list[str]:
    name = f"#{item.number}" if item.number is not None else "not filed"
    state = f" ({item.state})" if item.state else ""
    mark = "likely" if item.is_likely else "maybe "
    return [
        f"  {mark}  {name}{state}  {item.title}",
        f"          {item.url}",
        f"          because of {'; '.join(item.reasons) or 'the words searched for'}",
    ]


def _build_head(action: FilingAction, repository: Repository, draft: Submission) -> Json:
    return {
        "schema_version": SCHEMA_VERSION,
        "action": action.value,
        "repository": str(repository),
        "key": draft.key,
        "title": draft.text.title,
        "recognisable": draft.recognizable.to_json() if draft.recognizable else None,
    }

"""What leaves is decided once, as bytes: the texts that are shown, checked and sent are the same
objects.

The text on the disk may have been edited, so it is read as Markdown with a title line and never
rendered anew. The reporter's own sentence goes in front of the repro, and a body past the tracker's
limit gives up its log, never its repro.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.core.version import VERSION
from reporter.report.folder import ERROR_LOG, ISSUE, REPORT, REPRO, TRACE
from reporter.report.reading import load_report
from reporter.report.sections.report_document import Report
from reporter.store.reports import StoredReport, build_stored_report
from reporter.tracker.failure_facts import FailureFacts, ReportedFailure
from reporter.tracker.visible_details import VisibleDetails
from templates.issue import BODY_LIMIT
from templates.text import count_bytes, render_code_block, shorten

_TITLE_LIMIT = 256
_KEY = re.compile(r"<!-- bugreport-key: ([0-9a-f]{16}) -->")
_FINGERPRINT = "<!-- bugreport-fingerprint: {} -->"
#: The disclosure, which the templates end in one of two ways.
NO_WORDS = "; no person has added words of their own yet"
WITH_WORDS = (
    "; the reporter confirmed that the repro shows the problem and wrote the second paragraph"
)
_DISCLOSED = re.compile(r"written by the tool bugreport")
_LOGS = re.compile(r"^### Error logs\s*?\n(?P<log>.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
_IN_COMMENT = "The log is in the first comment."
_LONG_LOG = "_The whole error log, which did not fit into the issue:_"
_MARGIN = 256


@dataclass(frozen=True)
class IssueText:
    """The issue as it will stand on the tracker; `log` is what did not fit into its body."""

    title: str
    body: str
    log: str = ""


@dataclass(frozen=True)
class Submission:
    """A report on its way out.

    `words` is what the reporter wrote, `failure` what the report is compared with issues by.
    """

    folder: Path
    text: IssueText
    words: str
    failure: ReportedFailure
    report: Report
    notes: tuple[str, ...] = ()
    recognizable: VisibleDetails | None = None

    @property
    def stored(self) -> StoredReport:
        """The row of the local store."""
        return self.failure.stored

    @property
    def key(self) -> str:
        """The report's key in the local store, 16 hexadecimal digits."""
        return self.stored.key

    def collect_texts(self) -> dict[str, str]:
        """Everything that leaves, by name; the names are those by which the leak check
        names a leak.
        """
        found = {ISSUE: f"{self.text.title}\n\n{self.text.body}"}
        if self.text.log:
            found[ERROR_LOG] = self.text.log
        return found


def read_submission(folder: Path, words: str = "", written: str | None = None) -> Submission:
    """Reads a report folder.

    Args:
        written: the issue's text instead of issue.md, where it was written anew in another form.
        words: the reporter's own sentence; where the text already has one from `create --summary`
            it may be empty.

    Raises:
        UsageError: the folder is no report, or the text does not fit the tracker even without its
            log.
    """
    report = _read_report(folder)
    issue, repro = written or _read_text(folder, ISSUE), _read_text(folder, REPRO)
    title, _, body = issue.replace("\r\n", "\n").partition("\n")
    title, body = title.strip(), body.strip()
    if not title or not body:
        raise UsageError(f"{folder / ISSUE} must have a title line and a body; correct it")
    if len(title) > _TITLE_LIMIT:
        raise UsageError(
            f"the title in {folder / ISSUE} has {len(title)} characters, but {_TITLE_LIMIT} are"
            " allowed; shorten it"
        )
    stored = build_stored_report(folder, report, title, repro)
    body, notes = _mark(body, stored, folder)
    if repro.strip() not in body:
        notes += (f"{folder / ISSUE} does not show the repro as repro.py has it",)
    if (folder / TRACE).is_file():
        notes += (f"attach {folder / TRACE} in the browser; GitHub takes no files from programs",)
    log_file = folder / ERROR_LOG
    draft = Submission(
        folder=folder,
        text=IssueText(title, body, _read_text(folder, ERROR_LOG) if log_file.is_file() else ""),
        words="",
        failure=ReportedFailure(FailureFacts.from_report(report), report.labels, stored),
        report=report,
        notes=notes,
    )
    return add_words(draft, words)


def has_words(draft: Submission) -> bool:
    """Whether a person has written something: at `create`, here, or into the text itself."""
    return bool(draft.words) or WITH_WORDS in draft.text.body


def add_words(draft: Submission, words: str) -> Submission:
    """The submission with the reporter's own sentence before the repro.

    Raises:
        UsageError: it does not fit.
    """
    words = words.strip()
    body = draft.text.body
    if words and words not in body:
        before, fence_line, after = _split_at_repro(body)
        body = f"{before.rstrip()}\n\n{words}\n\n{fence_line}{after}"
    if words:
        body = body.replace(NO_WORDS, WITH_WORDS)
    text = replace(draft.text, body=_disclose(body, bool(words)))
    return _fit(replace(draft, text=text, words=words))


def render_environment_comment(draft: Submission, number: int) -> str:
    """A comment for an issue that reports the same bug already: what is new is where it was seen,
    and the smaller repro.

    Raises:
        UsageError: it is longer than the tracker takes.
    """
    report = draft.report
    seen, runs = report.verdict.reproduced
    versions = re.search(
        r"^### Versions\s*?\n(.*?)(?=^### |^<!-- |\Z)", draft.text.body, re.M | re.S
    )
    own = [draft.words] if draft.words else []
    parts = [
        (
            f"This also happens with torch {draft.stored.torch} (Python {report.python or '?'},"
            f" {report.device}): seen in {seen} of {runs} fresh processes with this repro."
        ),
        *own,
        render_code_block(draft.stored.repro, "python"),
        "<details><summary>Versions</summary>\n\n"
        + (versions.group(1).strip() if versions else "")
        + "\n\n</details>",
        (
            "_This comment was written by the tool bugreport"
            f" {VERSION}{WITH_WORDS if own else NO_WORDS}._"
        ),
        f"<!-- {draft.failure.marker} -->",
    ]
    text = "\n\n".join(part for part in parts if part)
    if len(text) > BODY_LIMIT:
        raise UsageError(f"the comment on #{number} is past the tracker's limit; file an issue")
    return text


def render_log_comment(draft: Submission, gist: str | None = None) -> str:
    """The first comment: the log itself, cut if it has to be, or the address of a gist that holds
    it.
    """
    mark = f"<!-- bugreport-log: {draft.key} -->"
    if gist:
        return f"{_LONG_LOG} {gist}\n\n{mark}"
    room = BODY_LIMIT - count_bytes(_LONG_LOG) - count_bytes(mark) - _MARGIN
    return f"{_LONG_LOG}\n\n{render_code_block(shorten(draft.text.log, room))}\n\n{mark}"


def has_long_log(draft: Submission) -> bool:
    """Whether a comment cannot hold the whole log."""
    return bool(draft.text.log) and draft.text.log.rstrip() not in render_log_comment(draft)


def _fit(draft: Submission) -> Submission:
    """The body within the tracker's limit: its log moves into a comment.

    Raises:
        UsageError: that is not enough.
    """
    if len(draft.text.body) <= BODY_LIMIT:
        return draft
    found = _LOGS.search(draft.text.body)
    if found and found["log"].strip():
        before, after = draft.text.body[: found.start("log")], draft.text.body[found.end("log") :]
        body = f"{before}\n{_IN_COMMENT}\n\n{after}"
        log = draft.text.log or _strip_fence(found["log"])
        draft = replace(draft, text=replace(draft.text, body=body, log=log))
    length = len(draft.text.body)
    if length > BODY_LIMIT:
        raise UsageError(
            f"the text of {draft.folder / ISSUE} has {length:,} characters, but the tracker takes"
            f" {BODY_LIMIT:,}; shorten it"
        )
    return draft


def _strip_fence(block: str) -> str:
    lines = block.strip().split("\n")
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].startswith("```"):
        lines = lines[1:-1]
    return "\n".join(lines) + "\n"


def _mark(body: str, stored: StoredReport, folder: Path) -> tuple[str, tuple[str, ...]]:
    """The body with the marks that it is found by, at its end; a foreign key in it is replaced."""
    notes: tuple[str, ...] = ()
    keys = set(_KEY.findall(body))
    if keys - {stored.key}:
        notes = (f"{folder / REPRO} was changed after the report was written",)
    body = _KEY.sub("", body).rstrip()
    marks = [f"<!-- bugreport-key: {stored.key} -->"]
    if stored.fingerprint:
        line = _FINGERPRINT.format(stored.fingerprint)
        body = body.replace(line, "").rstrip()
        marks.append(line)
    return body + "\n\n" + "\n".join(marks) + "\n", notes


def _disclose(body: str, has_words: bool) -> str:
    """What a tool has written says so, also where the line was edited away: the receiving project
    demands it.
    """
    if _DISCLOSED.search(body):
        return body
    ending = WITH_WORDS if has_words else NO_WORDS
    line = f"_This report was reduced and written by the tool bugreport {VERSION}{ending}._"
    position = body.rfind("\n<!-- bugreport-key:")
    return f"{body[:position].rstrip()}\n\n{line}\n{body[position:]}"


def _split_at_repro(body: str) -> tuple[str, str, str]:
    """The body before its first code block, that block's opening line, and the rest."""
    found = re.search(r"^`{3,}[^\n]*$", body, re.MULTILINE)
    if found is None:
        return body, "", ""
    return body[: found.start()], found.group(), body[found.end() :]


def _read_report(folder: Path) -> Report:
    report = load_report(folder)
    if report is None:
        raise UsageError(
            f"{folder} is not a report folder (it has no {REPORT}); name one that"
            " `bugreport create` wrote"
        )
    if report.repro is None:
        raise UsageError(f"{folder} holds a verdict without a repro, so there is nothing to file")
    return report


def _read_text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{folder} is not a report folder ({name}: {error.strerror}); name one that `bugreport"
            " create` wrote"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{folder / name} is not a text in UTF-8; correct it") from None

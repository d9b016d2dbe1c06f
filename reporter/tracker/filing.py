"""`file`: nothing leaves that was not shown, nobody files without words of their own and a yes, and
nothing arrives twice.

The order is: read, check for leaks, find out whether it is there already, look for duplicates,
show, ask, check again what the person added, send, read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from github.Repository import Repository as Project

from reporter.core.errors import BugreportError, UsageError
from reporter.core.settings import FilingOptions, IssueOptions
from reporter.publish.form import check_form, choose_form
from reporter.publish.leak_check import describe_doubts
from reporter.publish.rerendering import render_in_form
from reporter.publish.second_leak_check import RecheckResult, recheck
from reporter.store.database import open_store
from reporter.store.filings import FilingState, find_filing, remember_issue
from reporter.store.reports import save_report
from reporter.tracker.delivery import DeliveredPost, SubmissionService
from reporter.tracker.duplicates import Duplicates, find_duplicates
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.outcome import (
    FilingAction,
    FilingResult,
    PreviewResult,
    WantedFields,
    build_decline,
    render_duplicates,
    render_submission,
)
from reporter.tracker.plain_text import clean_line
from reporter.tracker.posts import CommentPlace, CommentPost, IssuePost, LogText
from reporter.tracker.preview import Prompt, open_web_form, preview_submission
from reporter.tracker.repository import Repository, need_token, parse_repository
from reporter.tracker.submission import (
    Submission,
    add_words,
    has_words,
    read_submission,
    render_environment_comment,
)
from reporter.tracker.sync import build_known_issue
from reporter.tracker.visible_details import find_visible_details

#: Priorities are the maintainers' to give.
_THEIRS = re.compile(r"high priority|triaged|sev\s*\d*", re.IGNORECASE)


@dataclass(frozen=True)
class FilingRequest:
    """What the command line asked for, checked as far as it can be before anything is read."""

    repository: Repository
    options: FilingOptions
    comment_on: int | None = None

    @property
    def sends(self) -> bool:
        """Whether something is to be sent: neither a dry run nor the web form is asked for."""
        return not (self.options.dry_run or self.options.web)


def check_wanted(
    options: FilingOptions, user: Prompt, comment_on: int | None = None
) -> FilingRequest:
    """Refuses what would be refused later, so that `create --file` does so before its long run.

    Args:
        user: says whether somebody can answer.
        comment_on: the number of the issue that a comment goes to; None: an issue of its own.

    Raises:
        UsageError: no project, no such form, options that exclude each other, a label that is not
            ours to give, nobody to ask.
        AuthenticationError: there is no token.
    """
    if not options.repo:
        raise UsageError(
            "it is not said where to file; name the project, as in `-R pytorch/pytorch`"
        )
    check_form(options)
    wanted = FilingRequest(parse_repository(options.repo), options, comment_on)
    if options.dry_run and options.web:
        raise UsageError("--dry-run and --web exclude each other; give one of them")
    for label in options.labels:
        if _THEIRS.fullmatch(label.strip()):
            raise UsageError(f"the label {label!r} is for the maintainers to give; leave it out")
    if wanted.sends:
        if not options.yes and not user.is_there:
            raise UsageError(
                "filing needs somebody who says yes, and there is no terminal to ask; give"
                " --summary with a sentence of your own and --yes"
            )
        need_token(wanted.repository.host)
    return wanted


def file(folder: Path, wanted: FilingRequest, user: Prompt) -> FilingResult | PreviewResult:
    """Files a report, or shows it.

    Args:
        folder: the report's, with its `private/`, by which the leak check searches again.
        wanted: as `check_wanted` returns it.
        user: sees what leaves, and is asked.

    Raises:
        UsageError: there is no report, `--yes` lacks a sentence, or the project takes no issue.
        LeakError: something private is left in it.
        AuthenticationError: there is no token, or the tracker refuses it.
        TrackerError: no answer that can be used.
    """
    options = wanted.options
    draft = _read_draft(folder, options)
    if wanted.sends and options.yes and not has_words(draft):
        raise UsageError(
            "--yes goes together with a sentence of your own; give it with --summary, or leave"
            " --yes out to be asked"
        )
    checked = _recheck(draft, options)
    draft = replace(draft, recognizable=find_visible_details(folder, draft.report))
    notes = (*draft.notes, *_describe_doubts(checked))
    if options.dry_run:
        return preview_submission(wanted.repository, options, draft, notes)
    if options.web:
        return open_web_form(wanted.repository, draft, user, notes)
    save_report(draft.stored)
    with TrackerSession(wanted.repository.host) as session:
        project = session.read_repository(wanted.repository)
        filer = _Filer(
            wanted, user, session, project, _resolve_repository(wanted.repository, project)
        )
        return filer.file(draft, notes)


def _read_draft(folder: Path, options: FilingOptions) -> Submission:
    """The report as it lies there, or written anew in the form that was asked for, with the labels
    that this form knows.
    """
    words = options.summary or ""
    if options.template is None:
        return read_submission(folder, words)
    form = choose_form(options)
    draft = read_submission(folder, words, render_in_form(folder, form))
    allowed = replace(draft.failure, labels=form.allow(draft.failure.labels))
    return replace(draft, failure=allowed)


@dataclass(frozen=True)
class _Filer:
    """One run against one project.

    `repository` has the project's own spelling, so that the store knows it under one name.
    """

    wanted: FilingRequest
    user: Prompt
    session: TrackerSession
    project: Project
    repository: Repository

    def file(self, draft: Submission, notes: tuple[str, ...]) -> FilingResult | PreviewResult:
        options = self.wanted.options
        submitter = SubmissionService(draft.key, self.session.timeouts, self.user.say, draft.folder)
        labels, unknown = self._select_labels(draft)
        notes = (*notes, *unknown)
        assignees = self._resolve_assignees()
        if self.wanted.comment_on is not None:
            return self._comment(submitter, draft, self.wanted.comment_on, Duplicates(), notes)
        post = IssuePost(self.session, self.project, self.repository, draft, labels, assignees)
        there = self._find_delivered(post)
        if there is not None:
            delivered = submitter.deliver(post)  # writes it down, and sends nothing
            return self._finish(
                FilingAction.ALREADY_FILED, submitter, post, delivered, Duplicates(), notes
            )
        found = find_duplicates(self.session, self.repository, draft.failure)
        for line in render_duplicates(found):
            self.user.say(line)
        target = found.to_comment_on
        if target is not None and target.number and not options.yes:
            answer = self.user.choose(
                f"Add your environment to #{target.number} instead of a new issue?",
                {
                    "c": f"comment on #{target.number}",
                    "n": "new issue all the same",
                    "q": "quit, send nothing",
                },
            )
            if answer == "q":
                return build_decline(self.repository, draft)
            if answer == "c":
                return self._comment(submitter, draft, target.number, found, notes)
        agreed = self._agree(draft, labels, assignees, notes)
        if agreed is None:
            return build_decline(self.repository, draft)
        post = replace(post, draft=agreed)
        delivered = submitter.deliver(post)
        action = FilingAction.ALREADY_FILED if delivered.already else FilingAction.FILED
        return self._finish(action, submitter, post, delivered, found, notes)

    def _find_delivered(self, post: IssuePost) -> DeliveredPost | None:
        with open_store() as store:
            row = find_filing(store, post.draft.key, post.address)
        if row is not None and row.state is FilingState.CONFIRMED and row.number and row.url:
            return DeliveredPost(row.number, row.url, already=True)
        return post.look(None)

    def _agree(
        self,
        draft: Submission,
        labels: tuple[str, ...],
        assignees: tuple[str, ...],
        notes: tuple[str, ...],
    ) -> Submission | None:
        """The submission as the person wants it, or None if they do not."""
        draft = self._ask_words(draft)
        for line in render_submission(self.repository, draft, labels, assignees):
            self.user.show(line)
        self._say_notes(notes)
        if self.wanted.options.yes or self._says_yes(f"File this in {self.repository}?"):
            return draft
        return None

    def _ask_words(self, draft: Submission) -> Submission:
        """The submission with the person's own sentence, which is checked for leaks like everything
        else.
        """
        if has_words(draft):
            return draft
        self.user.say(
            "The project wants words of your own: what did you do when it failed, and what does it"
            " keep you from doing?"
        )
        words = ""
        while len(words.split()) < 3:
            words = self.user.ask("Your sentence").strip()
        draft = add_words(draft, words)
        _recheck(draft, self.wanted.options)
        return draft

    def _say_notes(self, notes: Iterable[str]) -> None:
        """What a person should know before they say yes."""
        for note in notes:
            self.user.say(f"note: {note}")

    def _says_yes(self, question: str) -> bool:
        self.user.say(
            "By saying yes you confirm that you have read it and that it shows your problem."
        )
        return self.user.choose(question, {"y": "yes, send it", "n": "no, send nothing"}) == "y"

    def _comment(
        self,
        submitter: SubmissionService,
        draft: Submission,
        number: int,
        found: Duplicates,
        notes: tuple[str, ...],
    ) -> FilingResult | PreviewResult:
        """The new environment on an issue that is there, whose labels are others' business."""
        draft = self._ask_words(draft)
        text = render_environment_comment(draft, number)
        checked = _recheck_texts(draft, {"comment.md": text}, self.wanted.options)
        post = CommentPost(
            self.session,
            self.project,
            CommentPlace(f"{self.repository}#{number}", number, f"<!-- {draft.failure.marker} -->"),
            lambda: text,
        )
        head = f"── what leaves, as a comment on {self.repository.url}/issues/{number} ──"
        seen = draft.recognizable.render_lines() if draft.recognizable else ()
        for line in (head, *text.split("\n"), "── end of what leaves ──", *seen):
            self.user.show(line)
        self._say_notes(dict.fromkeys((*notes, *_describe_doubts(checked))))
        question = f"Comment on {self.repository}#{number}?"
        if not self.wanted.options.yes and not self._says_yes(question):
            return build_decline(self.repository, draft)
        delivered = submitter.deliver(post)
        action = FilingAction.ALREADY_FILED if delivered.already else FilingAction.COMMENTED
        return FilingResult(
            action, self.repository, draft, number, delivered.url, duplicates=found, notes=notes
        )

    def _finish(
        self,
        action: FilingAction,
        submitter: SubmissionService,
        post: IssuePost,
        delivered: DeliveredPost,
        found: Duplicates,
        notes: tuple[str, ...],
    ) -> FilingResult:
        """What belongs to an issue that is there: its log, and what the tracker made of the
        labels and assignees.
        """
        log_url, log_notes = self._post_log(submitter, post.draft, delivered.number)
        log_notes += (
            self._note_earlier_issue(post, delivered.number) if action == FilingAction.FILED else ()
        )
        labels, assignees = WantedFields(post.labels), WantedFields(post.assignees)
        try:
            given_labels, given_people = self._read_back(delivered.number)
            if action == FilingAction.FILED:
                labels = replace(labels, given=given_labels)
                assignees = replace(assignees, given=given_people)
        except BugreportError as error:
            log_notes += (f"the issue could not be read back: {error}",)
        return FilingResult(
            action=action,
            repository=self.repository,
            draft=post.draft,
            number=delivered.number,
            url=delivered.url,
            labels=labels,
            assignees=assignees,
            duplicates=found,
            log_url=log_url,
            notes=(*notes, *log_notes),
        )

    def _note_earlier_issue(self, post: IssuePost, number: int) -> tuple[str, ...]:
        """A note if another machine has filed the same report meanwhile: no lock of ours reaches
        that far.
        """
        try:
            first = post.look(None)
        except BugreportError:
            return ()
        if first is None or first.number >= number:
            return ()
        return (
            (
                f"somebody filed the same report at the same time as #{first.number} ({first.url});"
                f" close #{number}, yours, and comment there"
            ),
        )

    def _post_log(
        self, submitter: SubmissionService, draft: Submission, number: int
    ) -> tuple[str | None, tuple[str, ...]]:
        """The log that did not fit, as the first comment. Its failure does not undo the issue."""
        if not draft.text.log:
            return None, ()
        post = CommentPost(
            session=self.session,
            project=self.project,
            place=CommentPlace(
                f"{self.repository}#{number}/log", number, f"<!-- bugreport-log: {draft.key} -->"
            ),
            text=LogText(self.session, draft, self.user.say),
            what="the comment with the error log",
        )
        try:
            return submitter.deliver(post).url, ()
        except BugreportError as error:
            return None, (f"the error log is not there yet: {error}",)

    def _read_back(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        with self.session.explain_failures(f"read issue #{number} back"):
            issue = self.project.get_issue(number)
            people = tuple(clean_line(user.login) for user in issue.assignees)
            known = build_known_issue(self.repository, issue)
        with open_store() as store:
            remember_issue(store, known)
        return known.labels, people

    def _select_labels(self, draft: Submission) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels to ask for, and notes on those left out: a label that a project lacks would be
        made anew.
        """
        if self.wanted.options.labels or not draft.failure.labels:
            return self.wanted.options.labels, ()
        known, notes = [], []
        for label in draft.failure.labels:
            try:
                with self.session.explain_failures(f"read the label {label!r}"):
                    self.project.get_label(label)
                known.append(label)
            except UsageError:
                notes.append(f"{self.repository} has no label {label!r}, so it is left out")
            except BugreportError as error:
                notes.append(f"the label {label!r} is left out: {error}")
        return tuple(known), tuple(notes)

    def _resolve_assignees(self) -> tuple[str, ...]:
        names = self.wanted.options.assignee
        if "@me" not in names:
            return names
        with self.session.explain_failures("find out who you are"):
            login = self.session.github.get_user().login
        return tuple(login if name == "@me" else name for name in names)


def _resolve_repository(wanted: Repository, project: Project) -> Repository:
    if not project.has_issues:
        raise UsageError(f"{wanted} has its issues switched off; name another project with -R")
    if project.archived:
        raise UsageError(f"{wanted} is archived and takes no issues; name another project with -R")
    owner, _, name = clean_line(project.full_name).partition("/")
    return Repository(wanted.host, owner, name)


def _recheck(draft: Submission, options: IssueOptions) -> RecheckResult:
    return _recheck_texts(draft, draft.collect_texts(), options)


def _recheck_texts(
    draft: Submission, texts: Mapping[str, str], options: IssueOptions
) -> RecheckResult:
    value = draft.stored.fingerprint
    allowed = (draft.key, value, value.partition(":")[2])
    return recheck(
        draft.folder, texts, allowed=[item for item in allowed if item], public=options.keep_source
    )


def _describe_doubts(checked: RecheckResult) -> tuple[str, ...]:
    """What a person should look at before they say yes, and what could not be looked for."""
    notes = list(describe_doubts(checked.doubtful))
    if checked.not_searched:
        notes.append(
            f"private/ does not know your program any more, so {checked.not_searched} could not be"
            " looked for; read the text yourself"
        )
    return tuple(notes)

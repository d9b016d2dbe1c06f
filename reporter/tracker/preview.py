"""What is shown before anything leaves, and two ways of filing that send nothing: show what would
leave, and hand it to a person to paste.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from reporter.core.settings import FilingOptions
from reporter.publish.leak_check import describe_doubts, refuse_if_private
from reporter.store.database import open_store
from reporter.store.filings import FilingState, find_filing, set_state
from reporter.store.reports import save_report
from reporter.tracker.manual_form import build_form
from reporter.tracker.outcome import FilingAction, PreviewResult, render_submission
from reporter.tracker.repository import Repository
from reporter.tracker.submission import Submission, has_words


class Prompt(Protocol):
    """Who sits in front of the terminal, if anybody does.

    `show` is for what leaves, `say` for what is going on.
    """

    @property
    def is_there(self) -> bool:
        """Whether there is somebody who can answer."""

    def show(self, line: str) -> None:
        """Prints one line of what would leave or has left."""

    def say(self, line: str) -> None:
        """Prints one line about what is going on."""

    def ask(self, question: str) -> str:
        """The answer to a question, without white space around it."""

    def choose(self, question: str, answers: Mapping[str, str]) -> str:
        """One of the keys of `answers`; the last one is what no answer means."""

    def open(self, url: str) -> bool:
        """Shows a page in the browser; False if there is none."""


def agree_to_comments(comments: Iterable[tuple[str, str]], user: Prompt, is_sure: bool) -> bool:
    """Shows comments, points out what may not be meant to be there, and asks whether they are to be
    posted.

    Args:
        comments: the address and the text of each.
        is_sure: they are, and nobody is asked.

    Raises:
        LeakError: one names this machine or its user.
    """
    checked = [(*comment, describe_doubts(refuse_if_private(comment[1]))) for comment in comments]
    for address, text, notes in checked:
        for line in ("", f"this would be posted on {address}:", "", *text.rstrip().split("\n")):
            user.show(line)
        for note in notes:
            user.say(f"note: {note}")
    if is_sure or user.choose("post it?", {"y": "yes", "n": "no"}) == "y":
        return True
    user.say("nothing was posted")
    return False


def preview_submission(
    repository: Repository, options: FilingOptions, draft: Submission, notes: tuple[str, ...]
) -> PreviewResult:
    """Exactly what would leave; nothing is asked of the network, so neither are labels nor
    duplicates.

    Args:
        options: labels in it stand in the place of the draft's.
        notes: sentences that stand below it; one is added where the user's own words are missing.
    """
    labels = options.labels or draft.failure.labels
    if not has_words(draft):
        notes += ("a sentence of your own is still missing; --summary adds it",)
    would_send = {
        "title": draft.text.title,
        "body": draft.text.body,
        "labels": list(labels),
        "assignees": list(options.assignee),
        "log": draft.text.log or None,
    }
    lines = render_submission(repository, draft, labels, options.assignee)
    return PreviewResult(
        FilingAction.DRY_RUN,
        repository,
        draft,
        (*lines, "nothing was sent"),
        would_send=would_send,
        notes=notes,
    )


def open_web_form(
    repository: Repository, draft: Submission, user: Prompt, notes: tuple[str, ...]
) -> PreviewResult:
    """The form in the browser; `sync` finds the issue later by the mark in its text.

    The store has it as planned for the project from then on, unless it has another state there.

    Args:
        repository: the project whose form it is.
        draft: its title, and its body where that fits, go into the page's address; the lines have
            the whole body, to be pasted.
        user: opens the page; where nobody is there, only its address is returned.
        notes: sentences that stand below it.

    Raises:
        UsageError: the store cannot be used.
    """
    page = build_form(repository, draft)
    if not has_words(draft):
        notes += ("write a sentence of your own into the description before you submit",)
    lines = [page.url, ""]
    for heading, text in page.sections:
        lines += [f"── paste into “{heading}” ──" if heading else "── paste ──", text, ""]
    save_report(draft.stored)
    with open_store() as store:
        if find_filing(store, draft.key, str(repository)) is None:
            set_state(
                store, draft.key, str(repository), FilingState.PLANNED, detail="by the web form"
            )
    if user.is_there and not user.open(page.url):
        notes += ("no browser could be started; open the first line yourself",)
    return PreviewResult(FilingAction.WEB, repository, draft, tuple(lines), form=page, notes=notes)

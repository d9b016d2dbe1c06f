"""Rules about the issue as a text: its form, its length, what must be disclosed, what must not be
asked for.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from reporter.lint.rule import Hit, Rule
from reporter.lint.subject import LintSubject
from reporter.report.folder import REPORT, TEST
from templates.text import find_open_block, list_headings, pluralize

_TITLE_LIMIT = 256
_MARKER = "<!-- bugreport-key: "
_DISCLOSED = "written by the tool bugreport"


def _check_title(subject: LintSubject) -> Iterator[Hit]:
    title = subject.title
    if title is not None and not 10 <= len(title) <= _TITLE_LIMIT:
        yield subject.issue_name, 1, f"the title has {len(title)} characters"


def _check_headings(subject: LintSubject) -> Iterator[Hit]:
    if subject.body is None or not subject.form.headings:
        return
    found = list_headings(subject.body)
    if found != list(subject.form.headings):
        yield subject.issue_name, None, f"the headings are {', '.join(map(repr, found)) or 'none'}"


def _check_length(subject: LintSubject) -> Iterator[Hit]:
    if subject.body is not None and len(subject.body) > subject.form.limit:
        yield (
            subject.issue_name,
            None,
            f"the body has {len(subject.body):,} characters of {subject.form.limit:,}",
        )


def _check_fence(subject: LintSubject) -> Iterator[Hit]:
    if subject.body is not None and (opened := find_open_block(subject.body)):
        yield subject.issue_name, None, f"a block is opened by {opened} and never closed"


def _check_repro_inside(subject: LintSubject) -> Iterator[Hit]:
    if subject.body is None:
        return
    if subject.repro is None:
        yield subject.issue_name, None, "there is no Python code block"
    elif subject.repro.strip() not in subject.body:
        yield subject.issue_name, None, "the repro in the issue is not the text of repro.py"


def _check_marker(subject: LintSubject) -> Iterator[Hit]:
    if subject.body is not None and _MARKER not in subject.body:
        yield subject.issue_name, None, "there is no marker that finds the issue again"


def _check_disclosure(subject: LintSubject) -> Iterator[Hit]:
    if subject.body is not None and _DISCLOSED not in " ".join(subject.body.split()):
        yield subject.issue_name, None, "nothing says that a tool wrote this"


def _check_human_words(subject: LintSubject) -> Iterator[Hit]:
    if subject.report is None:
        return
    if subject.report.issue is None or not subject.report.issue.human_words:
        yield subject.issue_name, None, "no person has added words of their own"


def _check_labels(subject: LintSubject) -> Iterator[Hit]:
    for label in subject.report.labels if subject.report is not None else ():
        if subject.form.forbids(label):
            yield REPORT, None, f"the label {label!r} is for the maintainers to give"


def _find_visible(subject: LintSubject) -> Iterator[Hit]:
    if subject.report is None:
        return
    seen, of = subject.report.verdict.reproduced
    if of < 3:
        yield REPORT, None, f"the repro was run {pluralize(of, 'time')}"
    elif not seen:
        yield REPORT, None, f"the failure was seen in none of {pluralize(of, 'run')}"


def _find_hidden(subject: LintSubject) -> Iterator[Hit]:
    files = {subject.name: subject.repro, TEST: subject.test}
    if subject.body is not None:  # of an issue alone the program is a part
        files[subject.issue_name] = subject.body
    for name, text in files.items():
        for number, line in enumerate((text or "").split("\n"), 1):
            for character in line:
                if character != "\t" and unicodedata.category(character) in ("Cc", "Cf"):
                    yield name, number, f"there is an unseen character, U+{ord(character):04X}"
                    break


RULES = (
    Rule(
        "title",
        "A title says what happens, on one line.",
        "write a title of one line",
        _check_title,
    ),
    Rule(
        "headings",
        "The body has the sections of the project's form, and no others.",
        "render it with the form of that project (--template)",
        _check_headings,
    ),
    Rule(
        "length",
        "The body fits into the tracker's limit.",
        "shorten the log, never the repro",
        _check_length,
    ),
    Rule("open-fence", "Every code block is closed.", "close it", _check_fence),
    Rule(
        "repro-inside",
        "The program in the issue is the one that was verified.",
        "paste repro.py as it is",
        _check_repro_inside,
    ),
    Rule(
        "marker",
        "A hidden marker lets a second attempt find the first.",
        "keep the last line of the body",
        _check_marker,
    ),
    Rule(
        "disclosure",
        "Generated prose is disclosed.",
        "keep the sentence that names the tool",
        _check_disclosure,
    ),
    Rule(
        "human-words",
        "A person adds words of their own before it is filed.",
        "add a sentence with --summary, or when `file` asks",
        _check_human_words,
        "advice",
    ),
    Rule("labels", "Priorities are not asked for.", "leave the label out", _check_labels),
    Rule(
        "runs",
        "The repro was run at least three times, and showed the failure.",
        "create the report anew",
        _find_visible,
    ),
    Rule(
        "hidden-characters",
        "No character is there that a reader cannot see.",
        "write it as an escape or leave it out",
        _find_hidden,
    ),
)

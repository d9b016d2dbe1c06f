"""What a maintainer could answer, and the labels that the measurements support; both are
suggestions until a person says yes.

A stranger's text stands in fences and code spans only, so none of it is a heading, a link, a
mention or an instruction.
"""

from __future__ import annotations

import hashlib

from reporter.core.kinds import Kind
from reporter.core.version import VERSION
from reporter.report.labels import INDUCTOR, REGRESSION, LabelGrounds, choose_labels
from reporter.tracker.plain_text import clean_text
from reporter.tracker.repository import PUBLIC, parse_issue
from reporter.triage.attempt import FAILED, AttemptOutcome
from reporter.triage.decision import choose_best_run, parse_version_numbers
from reporter.triage.observers import fails_without
from reporter.triage.reading.stated_failure import Match
from reporter.triage.result import Status, Triage
from reporter.triage.sandboxed_verdict import MARK
from templates import render
from templates.text import pluralize, shorten, tidy_log

#: The labels that measurements of ours may suggest; never a priority, never `triaged`.
ALLOWED = frozenset(
    {
        "module: dynamo",
        "module: pt2-dispatcher",
        INDUCTOR,
        "oncall: cpu inductor",
        "module: dynamic shapes",
        "module: crash",
        REGRESSION,
        "module: correctness (silent)",
        "needs reproduction",
    }
)
_NO_REPRO = frozenset({"no_code", "not_self_contained", "needs_files"})
_ASKS = frozenset({*_NO_REPRO, "needs_weights", "needs_data"})
_LOG = 4000


def suggest_labels(result: Triage) -> tuple[str, ...]:
    """The labels, of the allowed ones only."""
    if result.refusal is not None:
        return ("needs reproduction",) if result.refusal.kind in _NO_REPRO else ()
    judged = result.judged
    if (
        judged is None
        or judged.kind is None
        or not judged.is_bug
        or result.status not in (Status.REPRODUCES, Status.DIFFERENT)
    ):
        return ()
    found = [label for label in judged.marks.labels if label in ALLOWED]
    if not found:
        signal = result.runs[0].decisive.failure if judged.kind == Kind.PROCESS_DEATH else None
        grounds = LabelGrounds(signal=signal)
        found = choose_labels(judged.kind, judged.layer, judged.is_bug, grounds)
    if _is_regression(result) and REGRESSION not in found:
        found.append(REGRESSION)
    return tuple(label for label in found if label in ALLOWED)


def _is_regression(result: Triage) -> bool:
    """An earlier release was run and is right, a later one is not."""
    rows: list[tuple[tuple[int, ...], AttemptOutcome]] = []
    for runs in result.runs:
        outcome = runs.decisive.outcome
        if result.minimal is not None:
            outcome = result.minimal.seen.get(runs.torch, AttemptOutcome.CANNOT_JUDGE)
        rows.append((parse_version_numbers(runs.torch), outcome))
    right = [release for release, outcome in rows if outcome == AttemptOutcome.PASSES]
    wrong = [release for release, outcome in rows if outcome in FAILED]
    return bool(right and wrong) and min(right) < max(wrong)


def compute_mark(result: Triage) -> str:
    """What the comment is found by: the same issue, program and status are the same comment."""
    text = result.repro.text if result.repro is not None else ""
    parts = (result.thread.name, result.status, text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _explain_difference(result: Triage) -> str:
    """Why the runs may show the failure while no compiled call that was compared differs; empty
    where that is not so.
    """
    judged = result.judged
    if result.status != Status.REPRODUCES or judged is None or judged.kind is None or judged.is_bug:
        return ""
    if fails_without(result.runs[choose_best_run(result.runs)], result.control):
        return "With `TORCHDYNAMO_DISABLE=1` it fails in the same way, so without the compiler."
    compared = f"{judged.measured.account.compared} of {judged.measured.account.calls}"
    alone = (
        " With `TORCHDYNAMO_DISABLE=1` it passes."
        if result.control is not None and result.control.decisive.outcome == AttemptOutcome.PASSES
        else ""
    )
    return (
        "The table has what the program itself shows, its exit code and its error, against what the"
        " issue states. Measured beside it was another thing: whether compiled calls return what"
        f" eager mode returns ({compared} calls were compared, and none differs). So the failure"
        f" lies in what these calls did not return, or in a call that was not compared.{alone}"
    )


def render_comment(result: Triage) -> str:
    """The suggested comment as Markdown; empty where there is nothing that a stranger should be
    told.
    """
    refusal = result.refusal
    if refusal is not None and refusal.kind not in _ASKS:
        return ""
    if result.status == Status.CANNOT_JUDGE:
        return ""
    shown = next((runs.decisive for runs in result.runs if runs.decisive.match == Match.SAME), None)
    shown = shown or next((runs.decisive for runs in result.runs if runs.failed), None)
    log = tidy_log(_without_answers(clean_text(shown.stderr))).strip() if shown is not None else ""
    judged = result.judged if result.judged is not None and result.judged.kind else None
    return render(
        "triage.md.j2",
        status=result.status,
        asks=refusal is not None,
        refusal=refusal,
        rows=[
            (
                runs.torch,
                runs.python,
                runs.decisive.outcome,
                runs.failed,
                runs.of,
                runs.decisive.failure,
            )
            for runs in result.runs
        ],
        judged=judged,
        repro=result.minimal.text if result.minimal is not None else "",
        changes=result.repro.changes if result.repro is not None else (),
        size=pluralize(result.minimal.statements if result.minimal else 0, "tensor operation"),
        seen=dict(result.minimal.seen) if result.minimal is not None else {},
        explained=_explain_difference(result),
        control=result.control.decisive.outcome if result.control is not None else "",
        ran=bool(result.runs),
        contained=result.contained,
        log=shorten(log, _LOG) if result.status in (Status.REPRODUCES, Status.DIFFERENT) else "",
        duplicates=_list_references(result),
        version=VERSION,
        mark=compute_mark(result),
    )


def _list_references(result: Triage) -> list[str]:
    """The likely duplicates as a comment on the issue refers to them: `#N` in its own project,
    `OWNER/REPO#N` in another one, and the page on another host.
    """
    own = result.thread.address.repository if result.thread.address else None
    found = []
    for candidate in result.duplicates:
        address = parse_issue(candidate.url) if candidate.is_likely else None
        if address is None:  # a report of one's own that is not filed
            continue
        place = address.repository
        if place == own:
            found.append(f"#{address.number}")
        elif place.host == (own.host if own else PUBLIC):
            found.append(f"{place.full_name}#{address.number}")
        else:
            found.append(address.url)
    return found


def _without_answers(text: str) -> str:
    """A program's output without lines in the form of an answer of ours, which it can only have
    forged.
    """
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(MARK))

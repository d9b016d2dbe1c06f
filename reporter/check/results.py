"""What a check found, and how it is shown: a line each where results are few, repros against
releases where they are many.

What has changed since the last run stands first, in every form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import UNSET

import templates
from reporter.check.notifications import Notification
from reporter.check.work import CheckResult
from reporter.core.json_values import Json
from reporter.core.kinds import CheckOutcome
from reporter.report.sections.check_document import CHECK_VERSION, ChangeRow, CheckDocument

GONE, REMAINS, UNKNOWN = 0, 1, 125

WORDS: Mapping[CheckOutcome, str] = {
    CheckOutcome.REPRODUCES: CheckOutcome.REPRODUCES,
    CheckOutcome.FIXED: CheckOutcome.FIXED,
    CheckOutcome.DIFFERENT: "another failure",
    CheckOutcome.CANNOT_JUDGE: "cannot judge",
}
SHORT: Mapping[CheckOutcome, str] = {
    CheckOutcome.REPRODUCES: "fails",
    CheckOutcome.FIXED: "-",
    CheckOutcome.DIFFERENT: "other",
    CheckOutcome.CANNOT_JUDGE: "?",
}
_FEW = 8


@dataclass(frozen=True)
class OutcomeChange:
    """A cell that shows something else than the last time."""

    before: CheckOutcome
    check: CheckResult

    def to_section(self) -> ChangeRow:
        """The row of the document."""
        check = self.check
        return ChangeRow(
            key=check.key,
            repro=check.repro,
            torch=check.torch,
            release=check.release,
            before=self.before,
            now=check.outcome,
        )


@dataclass(frozen=True)
class CheckSummary:
    """What a check found: the results in the order asked for, what has changed since the last time,
    and which issues were `told`.

    The exit code is 1 if a repro fails anywhere (`reproduces`, or `different`, behind which the bug
    may be hidden), else 0 if it was right anywhere, else 125. With `bisecting`, another failure
    cannot be judged: `git bisect` has to skip what the bug may hide behind.
    """

    results: tuple[CheckResult, ...]
    changes: tuple[OutcomeChange, ...] = ()
    notes: tuple[str, ...] = ()
    told: tuple[Notification, ...] | None = None
    bisecting: bool = False

    @property
    def exit_code(self) -> int:
        """1, 0 or 125, by the rule of the class."""
        found = {check.outcome for check in self.results}
        if (
            CheckOutcome.REPRODUCES in found
            or CheckOutcome.DIFFERENT in found
            and not self.bisecting
        ):
            return REMAINS
        return GONE if CheckOutcome.FIXED in found else UNKNOWN

    def to_json(self) -> Json:
        """The document of `check --json`."""
        comments = self.told
        return CheckDocument(
            schema_version=CHECK_VERSION,
            results=self.results,
            changes=tuple(change.to_section() for change in self.changes),
            comments=(
                tuple(told.to_section() for told in comments) if comments is not None else UNSET
            ),
        ).to_json()

    def summarize(self) -> list[str]:
        """A line per result where there are few, else a table; what has changed comes first."""
        return render_lines(self)


@dataclass(frozen=True)
class MatrixRow:
    """One repro: its cells by release, and whether any of them has changed."""

    repro: str
    key: str
    cells: Mapping[str, CheckResult]
    changed: frozenset[str]


@dataclass(frozen=True)
class Matrix:
    """Repros against releases, the changed rows first, in the order asked for otherwise."""

    releases: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def _build_matrix(checked: CheckSummary) -> Matrix:
    """The results by repro and release."""
    changed = {change.check.cell for change in checked.changes}
    columns = tuple(dict.fromkeys(check.release for check in checked.results))
    by_repro: dict[str, dict[str, CheckResult]] = {}
    for check in checked.results:
        by_repro.setdefault(check.key, {})[check.release] = check
    rows = [
        MatrixRow(
            next(iter(cells.values())).repro,
            key,
            cells,
            frozenset(release for release in cells if (key, release) in changed),
        )
        for key, cells in by_repro.items()
    ]
    return Matrix(columns, tuple(sorted(rows, key=lambda row: not row.changed)))


def render_lines(checked: CheckSummary) -> list[str]:
    """What the terminal shows."""
    told = [
        f"changed: {change.check.repro} on torch {change.check.torch}: {WORDS[change.before]} ->"
        f" {WORDS[change.check.outcome]}"
        for change in checked.changes
    ]
    if len(checked.results) > _FEW:
        told += _render_table(_build_matrix(checked))
    else:
        seen = Counter((check.key, check.exact_torch) for check in checked.results)
        for check in checked.results:
            is_alone = seen[check.key, check.exact_torch] == 1
            told.append(_render_line(check, "" if is_alone else f" of {check.release}"))
    return [*told, *checked.notes, _sum(checked)]


def _render_line(check: CheckResult, place: str) -> str:
    hits, of = check.runs
    often = f" ({hits} of {of} runs)" if of > 1 else ""
    detail = f": {check.detail}" if check.detail else ""
    where = f"torch {check.exact_torch}{place}"
    return (
        f"{check.repro} on {where}: {WORDS[check.outcome]}{often}{detail} [{check.seconds:.1f} s]"
    )


def _render_table(found: Matrix) -> list[str]:
    heads = _name_releases(found)
    width = max((len(row.repro) for row in found.rows), default=0)
    widths = [max(len(head), 6) for head in heads]
    told = ["  ".join([" " * width, *(f"{head:>{w}}" for head, w in zip(heads, widths))])]
    for row in found.rows:
        cells = [_render_mark(row, release) for release in found.releases]
        told.append(
            "  ".join([f"{row.repro:{width}}", *(f"{c:>{w}}" for c, w in zip(cells, widths))])
        )
    return told


def _render_mark(row: MatrixRow, release: str) -> str:
    check = row.cells.get(release)
    if check is None:
        return ""
    return SHORT[check.outcome] + ("*" if release in row.changed else "")


def _name_releases(found: Matrix) -> list[str]:
    """The releases by their versions, also where one was given as an interpreter or a wheel; two of
    the same version by what they were given as.
    """
    versions = [
        {row.cells[release].torch for row in found.rows if release in row.cells}
        for release in found.releases
    ]
    return [
        min(own) if len(own) == 1 and versions.count(own) == 1 else release
        for release, own in zip(found.releases, versions)
    ]


def _sum(checked: CheckSummary) -> str:
    counts = dict.fromkeys(WORDS, 0)
    for check in checked.results:
        counts[check.outcome] += 1
    parts = [f"{number} {WORDS[word]}" for word, number in counts.items() if number]
    return "in all: " + (", ".join(parts) or "nothing")


def _build_context(checked: CheckSummary) -> Json:
    found = _build_matrix(checked)
    return {
        "matrix": found,
        "heads": _name_releases(found),
        "changes": checked.changes,
        "words": WORDS,
        "total": _sum(checked),
        "time": max((check.time for check in checked.results), default=""),
    }


def render_markdown(checked: CheckSummary) -> str:
    """A page for an issue, a wiki or a job summary."""
    return _render("matrix.md.j2", checked)


def render_html(checked: CheckSummary) -> str:
    """A page of its own, without anything from elsewhere."""
    return _render("matrix.html.j2", checked)


def _render(name: str, checked: CheckSummary) -> str:
    return templates.render(name, **_build_context(checked))

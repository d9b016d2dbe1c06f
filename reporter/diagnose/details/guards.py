"""The guard that a stale graph lacks: named by what changed, confirmed by an experiment.

A graph that is wrong when reused, and right when compiled afresh, passed its guards although
something it depends on had changed. If the result is right again once one changed size is held
static — its change then causes a compile — a guard on that size is what was missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from collectors.protocol.compilation import ArgumentChange, GuardsAnswer
from collectors.protocol.words import CallOutcome
from reporter.recording import questions
from reporter.recording.findings import Finding
from reporter.report.sections.base import build_section
from reporter.report.sections.details import ChangedSize, GuardSection

_MAX_EXPERIMENTS = 4


def describe(guard: GuardSection) -> str:
    """One or two sentences for a report."""
    changes = ", ".join(
        f"{change.name} was {_simplify_size(change.compiled)} when it was compiled and is"
        f" {_simplify_size(change.now)} now"
        for change in guard.changed[:3]
    )
    first = f"The graph is reused although {changes}; a guard is missing: {guard.missing}."
    if guard.confirmed:
        return f"{first} With that held static the call is compiled again and the result is right."
    return first


def _simplify_size(value: float) -> float:
    """A size as the whole number that it is."""
    return int(value) if math.isfinite(value) and value == int(value) else value


def find(finding: Finding, timeout: float) -> GuardSection | None:
    """Looks for the missing guard of a finding whose reused graph is wrong.

    Args:
        timeout: of each question about the call, in seconds.

    Returns:
        None if no graph was reused in a replay, or the result is wrong with all that changed held
        static, so that a guard on it would not help.
    """
    search = _GuardSearch(finding, timeout)
    answer = search.ask([])
    if answer.get("outcome") != CallOutcome.OK or not answer["reused"] or not answer["changed"]:
        return None
    changes = [build_section(ChangedSize, change) for change in answer["changed"]]
    blamed, confirmed = changes[:1], None
    if search.is_right(answer) is False:
        blamed, confirmed = search.confirm(changes)
        if confirmed is False:
            return None
    return GuardSection(
        changed=tuple(changes),
        checked=tuple(answer["checked"]),
        used=tuple(answer["used"]),
        symbols=dict(answer["symbols"]),
        missing=" and ".join(f"{each.name} == {_simplify_size(each.compiled)}" for each in blamed),
        confirmed=confirmed,
    )


class _GuardSearch:
    """The experiments, each in a fork of its own; `eager` is what they are compared with."""

    def __init__(self, finding: Finding, timeout: float) -> None:
        self.finding = finding
        self.timeout = timeout
        self._made = 0
        eager = questions.run({"how": "eager", "snapshot": self._make_path()})
        self.eager = finding.call_session.request(eager, timeout)

    def _make_path(self) -> str:
        self._made += 1
        name = f"guard-{self.finding.call}-{id(self)}-{self._made}.pt"
        return str(self.finding.call_session.folder / name)

    def ask(
        self, static: Sequence[ChangedSize], vary: Sequence[ChangedSize] | None = None
    ) -> GuardsAnswer:
        """History and call again, with some changes held static, or with only some of the changes
        made.
        """
        question = questions.inspect_guards(
            self._make_path(),
            [_build_argument_change(change) for change in static],
            None if vary is None else [_build_argument_change(change) for change in vary],
        )
        return self.finding.call_session.request(question, self.timeout)

    def is_right(self, answer: GuardsAnswer) -> bool | None:
        """Whether a run agrees with eager; None if it cannot be told."""
        if answer.get("outcome") != CallOutcome.OK or self.eager.get("outcome") != CallOutcome.OK:
            return None
        question = questions.compare(self.eager["snapshot"], answer["snapshot"])
        compared = self.finding.call_session.request(question, self.timeout).get("comparison")
        return compared["same"] if compared else None

    def confirm(self, changes: Sequence[ChangedSize]) -> tuple[list[ChangedSize], bool | None]:
        """The change that alone makes a reused graph wrong; then whether holding it static makes
        the result right.
        """
        groups = _group_changes(changes)
        for group in groups[:_MAX_EXPERIMENTS] if len(groups) > 1 else ():
            answer = self.ask([], vary=group)
            if (
                answer.get("outcome") == CallOutcome.OK
                and answer["reused"]
                and self.is_right(answer) is False
            ):
                groups = [group]
                break
        blamed = groups[0] if len(groups) == 1 else list(changes)
        for chosen in [[change] for change in blamed] if len(groups) == 1 else []:
            if self.is_right(self.ask(chosen)):
                return chosen, True
        return blamed, self.is_right(self.ask(blamed))


def _build_argument_change(change: ChangedSize) -> ArgumentChange:
    """A change as the call session takes it."""
    return {
        "where": change.where,
        "dimension": change.dimension,
        "compiled": _simplify_size(change.compiled),
        "now": _simplify_size(change.now),
    }


def _group_changes(changes: Sequence[ChangedSize]) -> list[list[ChangedSize]]:
    """Changes from and to the same size are likely one size, and cannot be made apart."""
    groups: dict[tuple[float, float], list[ChangedSize]] = {}
    for change in changes:
        groups.setdefault((change.compiled, change.now), []).append(change)
    return list(groups.values())

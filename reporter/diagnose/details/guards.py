"""The guard that a stale graph lacks: named by what changed, confirmed by an experiment.

A graph that is wrong when reused, and right when compiled afresh, passed its guards although
something it depends on had changed. If the result is right again once one changed size is held
static — its change then causes a compile — a guard on that size is what was missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collectors.protocol import ArgumentChange, GuardsAnswer
from reporter.recording import questions
from reporter.recording.findings import Finding

_MAX_EXPERIMENTS = 4


@dataclass(frozen=True)
class GuardChange:
    """A size or number that differs between the call a graph was compiled for and the call that
    reused it.
    """

    where: str
    dimension: int | None
    compiled: float
    now: float
    used: tuple[str, ...] = ()

    @property
    def guard(self) -> str:
        """The guard that would have told the two calls apart."""
        return f"{self.name} == {self.compiled}"

    @property
    def name(self) -> str:
        """Its name in words, without names of the user's."""
        return self.where if self.dimension is None else f"{self.where}, dimension {self.dimension}"

    def to_json(self) -> ArgumentChange:
        """Without `used`, which says why this change comes first."""
        return {
            "where": self.where,
            "dimension": self.dimension,
            "compiled": self.compiled,
            "now": self.now,
        }


@dataclass(frozen=True)
class MissingGuard:
    """What changed unnoticed.

    `confirmed`: held static, the result is right (None: could not be tried). All of it is public.
    """

    changed: tuple[GuardChange, ...]
    checked: tuple[str, ...]
    used: tuple[str, ...]
    symbols: dict[str, str]
    missing: str
    confirmed: bool | None

    def text(self) -> str:
        """One or two sentences for a report."""
        changes = ", ".join(
            f"{change.name} was {change.compiled} when it was compiled and is {change.now} now"
            for change in self.changed[:3]
        )
        first = f"The graph is reused although {changes}; a guard is missing: {self.missing}."
        if self.confirmed:
            return (
                f"{first} With that held static the call is compiled again and the result is right."
            )
        if self.confirmed is False:
            return (
                f"{first} Holding that static does not make the result right, so it may be another"
                " one."
            )
        return first


def find(finding: Finding, timeout: float) -> MissingGuard | None:
    """Looks for the missing guard of a finding whose reused graph is wrong; None if no graph was
    reused in a replay.
    """
    search = _Search(finding, timeout)
    answer = search.ask([])
    if answer.get("outcome") != "ok" or not answer["reused"] or not answer["changed"]:
        return None
    changes = [
        GuardChange(
            item["where"],
            item["dimension"],
            item["compiled"],
            item["now"],
            tuple(item.get("used", ())),
        )
        for item in answer["changed"]
    ]
    blamed, confirmed = changes[:1], None
    if search.right(answer) is False:
        blamed, confirmed = search.confirm(changes)
    return MissingGuard(
        changed=tuple(changes),
        checked=tuple(answer["checked"]),
        used=tuple(answer["used"]),
        symbols=dict(answer["symbols"]),
        missing=" and ".join(change.guard for change in blamed),
        confirmed=confirmed,
    )


class _Search:
    """The experiments, each in a fork of its own; `eager` is what they are compared with."""

    def __init__(self, finding: Finding, timeout: float) -> None:
        self.finding = finding
        self.timeout = timeout
        self._made = 0
        eager = questions.run({"how": "eager", "snapshot": self._path()})
        self.eager = finding.call_session.request(eager, timeout)

    def _path(self) -> str:
        self._made += 1
        name = f"guard-{self.finding.call}-{id(self)}-{self._made}.pt"
        return str(self.finding.call_session.folder / name)

    def ask(
        self, static: Sequence[GuardChange], vary: Sequence[GuardChange] | None = None
    ) -> GuardsAnswer:
        """History and call again, with some changes held static, or with only some of the changes
        made.
        """
        question = questions.guards(
            self._path(),
            [change.to_json() for change in static],
            None if vary is None else [change.to_json() for change in vary],
        )
        return self.finding.call_session.request(question, self.timeout)

    def right(self, answer: GuardsAnswer) -> bool | None:
        """Whether a run agrees with eager; None if it cannot be told."""
        if answer.get("outcome") != "ok" or self.eager.get("outcome") != "ok":
            return None
        question = questions.compare(self.eager["snapshot"], answer["snapshot"])
        compared = self.finding.call_session.request(question, self.timeout).get("comparison")
        return compared["same"] if compared else None

    def confirm(self, changes: Sequence[GuardChange]) -> tuple[list[GuardChange], bool | None]:
        """The change that alone makes a reused graph wrong; then whether holding it static makes
        the result right.
        """
        groups = _together(changes)
        for group in groups[:_MAX_EXPERIMENTS] if len(groups) > 1 else ():
            answer = self.ask([], vary=group)
            if answer.get("outcome") == "ok" and answer["reused"] and self.right(answer) is False:
                groups = [group]
                break
        blamed = groups[0] if len(groups) == 1 else list(changes)
        for chosen in [[change] for change in blamed] if len(groups) == 1 else []:
            if self.right(self.ask(chosen)):
                return chosen, True
        return blamed, self.right(self.ask(blamed))


def _together(changes: Sequence[GuardChange]) -> list[list[GuardChange]]:
    """Changes from and to the same size are likely one size, and cannot be made apart."""
    groups: dict[tuple[float, float], list[GuardChange]] = {}
    for change in changes:
        groups.setdefault((change.compiled, change.now), []).append(change)
    return list(groups.values())

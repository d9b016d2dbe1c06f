"""One search over one list of releases: verify the ends, ask until the neighbors are known,
compare signatures all along.

An answer is kept the moment it is known, so the search can be killed at any time and goes on from
what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reporter.bisect.search import PointState, choose_probes, find_bracket
from reporter.check.engine import Engine
from reporter.check.result_sink import ResultSink
from reporter.check.subject import CheckSubject
from reporter.check.work import CheckResult, Task
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import CheckOutcome, Word
from reporter.core.progress import Progress
from reporter.environments.release import Release


class SearchedChange(Word):
    """What a search looks for: the release that broke the repro, or the one that fixed it."""

    BROKE = "broke"
    FIXED = "fixed"


@dataclass(frozen=True)
class PointChecks:
    """How the points of a search are checked: what runs them and where results go.

    `jobs` are checked at once, each for `timeout` seconds at most.
    """

    engine: Engine
    keeper: ResultSink
    jobs: int
    timeout: float
    progress: Progress


class Search:
    """One search over one list of releases, oldest first, with what is known so far."""

    def __init__(
        self,
        subject: CheckSubject,
        releases: Sequence[Release],
        what: SearchedChange,
        how: PointChecks,
    ) -> None:
        self.subject = subject
        self.releases = releases
        self.what = what
        self.how = how
        self.known: dict[int, PointState] = {}
        self.checks: dict[int, CheckResult] = {}

    def check_ends(self) -> str:
        """Verify both ends; the reason why there is nothing to search for, or nothing.

        Raises:
            CannotJudgeError: one of them cannot be judged.
        """
        last = len(self.releases) - 1
        self.ask([0, last])
        first, final = self.checks[0], self.checks[last]
        for point, check in ((0, first), (last, final)):
            if self.known[point] is PointState.UNKNOWN:
                raise CannotJudgeError(
                    f"torch {check.release} cannot be an end of the search: {describe(check)};"
                    f" choose"
                    " another one"
                )
        if self.known[0] is PointState.BEFORE and self.known[last] is PointState.AFTER:
            return ""
        if self.known[0] is self.known[last]:
            word = "fails" if final.outcome == CheckOutcome.REPRODUCES else "is right"
            return (
                f"it {word} on torch {first.torch} and on torch {final.torch}, so nothing changed"
                " between them"
            )
        order = (
            "fails on the later and is right on the earlier"
            if self.what == SearchedChange.FIXED
            else ("is right on the later and fails on the earlier")
        )
        way = "leave out" if self.what == SearchedChange.FIXED else "add"
        return f"it {order} of torch {first.torch} and torch {final.torch}; {way} --find-fix"

    def narrow(self) -> None:
        """Ask until no point is left between the neighbors."""
        while chosen := choose_probes(self.known, self.how.jobs):
            self.ask(chosen)
            found = find_bracket(self.known)
            if found is not None:
                early, late = self.releases[found.before].label, self.releases[found.after].label
                self.how.progress.note(f"between torch {early} and torch {late}")

    def ask(self, points: Sequence[int]) -> None:
        """Check some points, side by side, in fresh processes: each of them may be the one that
        decides.
        """
        cells = {(self.subject.key, self.releases[point].key): point for point in points}
        tasks = [
            Task(self.subject, self.releases[point], fresh=True, timeout=self.how.timeout)
            for cell, point in cells.items()
            if cell not in self.how.keeper.found
        ]
        self.how.progress.begin_stage(
            "check", ", ".join(f"torch {self.releases[point].label}" for point in points)
        )

        def keep(check: CheckResult) -> None:
            self.how.keeper.keep(check)
            self.how.progress.note(f"torch {check.exact_torch}: {describe(check)}")

        self.how.engine.run(tasks, keep)
        for cell, point in cells.items():
            self.checks[point] = self.how.keeper.found[cell]
            self.known[point] = self._judge(self.checks[point])
        self._learn()

    def _judge(self, check: CheckResult) -> PointState:
        fails, right = (
            (PointState.BEFORE, PointState.AFTER)
            if self.what == SearchedChange.FIXED
            else (PointState.AFTER, PointState.BEFORE)
        )
        return {CheckOutcome.REPRODUCES: fails, CheckOutcome.FIXED: right}.get(
            check.outcome, PointState.UNKNOWN
        )

    def _learn(self) -> None:
        """A repro without a report has to show what it showed first; then nothing else counts."""
        if self.subject.wanted is None:
            first = next(
                (
                    c.failure
                    for _, c in sorted(
                        self.checks.items(), reverse=self.what == SearchedChange.BROKE
                    )
                    if c.outcome == CheckOutcome.REPRODUCES and c.failure is not None
                ),
                None,
            )
            if first is not None:
                self.subject = replace(self.subject, wanted=first)


def describe(check: CheckResult) -> str:
    """The outcome of a point in words."""
    detail = f" ({check.detail})" if check.detail else ""
    return check.outcome.replace("_", " ") + detail

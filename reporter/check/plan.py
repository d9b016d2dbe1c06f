"""What a check is to do is worked out before anything runs: repros times releases, with what is
known of each cell.

Cells of one release lie together, so that its workers are started once; where there is hardly any
cell, fresh processes alone are quicker than warming up, and prove more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from reporter.check.judging import shows_wanted_failure
from reporter.check.runs import Cell, find_first_failure
from reporter.check.subject import CheckSubject
from reporter.check.work import CheckResult, Task
from reporter.core.errors import UsageError
from reporter.core.kinds import CheckOutcome
from reporter.core.signature import Signature
from reporter.environments.release import Release, identify
from reporter.store.database import format_now

#: A release with fewer cells than this is not worth a warm-up.
_FEW = 3


@dataclass(frozen=True)
class Plan:
    """Which repros are to be checked where; `fresh` asks for fresh processes only, `skip` for no
    check whose answer cannot have changed.
    """

    subjects: tuple[CheckSubject, ...]
    releases: tuple[Release, ...]
    timeout: float = 300.0
    fresh: bool = False
    skip: bool = False

    @property
    def cells(self) -> list[Cell]:
        """Repro by repro, in the order asked for."""
        return [
            (subject.key, release.key) for subject in self.subjects for release in self.releases
        ]

    @property
    def identity(self) -> list[str]:
        """What makes two plans the same, so that results of the one are results of the other."""
        subjects = [
            f"{item.key} {item.origin is not None and item.origin.trust}" for item in self.subjects
        ]
        how = f"{self.timeout} {self.fresh} {self.skip}"
        return [how, *sorted(subjects), *sorted(map(identify, self.releases))]

    def find_known(self, before: Mapping[Cell, CheckResult]) -> list[CheckResult]:
        """The cells whose answer cannot have changed, with that answer: a release does not change,
        and neither does the text of a repro.
        """
        if not self.skip:
            return []
        finals = {item.key: item for item in self.releases if item.is_final}
        return [
            msgspec.structs.replace(check, time=format_now())
            for (_, release), check in before.items()
            if release in finals
            and check.outcome in (CheckOutcome.REPRODUCES, CheckOutcome.FIXED)
            and finals[release].backend in (None, check.build.partition("+")[2])
        ]

    def list_tasks(self, before: Mapping[Cell, CheckResult]) -> list[Task]:
        """The cells as tasks, release by release; `before` is what each showed the last time."""
        is_few = len(self.subjects) < _FEW
        return [
            Task(
                subject,
                release,
                expected=(
                    known.outcome if (known := before.get((subject.key, release.key))) else None
                ),
                fresh=self.fresh,
                few=is_few,
                timeout=self.timeout,
            )
            for release in self.releases
            for subject in self.subjects
        ]


def add_references(
    subjects: Sequence[CheckSubject], store: sqlite3.Connection | None
) -> tuple[CheckSubject, ...]:
    """The repros, each without a report with the failure that it showed first as `wanted`.

    Args:
        subjects: the repros, with and without a report.
        store: where earlier runs are noted; None: nothing is known of them.
    """
    if store is None:
        return tuple(subjects)
    return tuple(
        (
            subject
            if subject.wanted is not None
            else replace(subject, wanted=find_first_failure(store, subject.key))
        )
        for subject in subjects
    )


def compare(
    subjects: Sequence[CheckSubject], checks: Sequence[CheckResult]
) -> tuple[CheckResult, ...]:
    """The same results, in which a repro without a report reproduces only what its first failure
    showed.

    Args:
        subjects: the repros that were checked.
        checks: their results. The first failure of a repro in this order is the reference.

    Returns:
        The results in the same order; where a repro failed otherwise than its reference, the
        outcome is `different`.
    """
    plain = {subject.key for subject in subjects if subject.wanted is None}
    reference: dict[str, Signature] = {}
    told: list[CheckResult] = []
    for check in checks:
        if (
            check.key in plain
            and check.outcome == CheckOutcome.REPRODUCES
            and check.failure is not None
        ):
            first = reference.setdefault(check.key, check.failure)
            if not shows_wanted_failure(first, check.failure):
                check = msgspec.structs.replace(check, outcome=CheckOutcome.DIFFERENT)
        told.append(check)
    return tuple(told)


def refuse_nothing(subjects: Sequence[CheckSubject]) -> None:
    """Refuses a check without a repro.

    Raises:
        UsageError: there is nothing to check.
    """
    if not subjects:
        raise UsageError(
            "there is nothing to check: the store has no report yet; name repro files or report"
            " folders"
        )

"""What is worked out before and after the runs."""

from __future__ import annotations

from dataclasses import replace

from reporter.check.plan import compare
from reporter.check.subject import CheckSubject
from reporter.core.kinds import Kind
from reporter.report.sections.verdict import FailureSection
from tests.support.checking import checked


def test_a_repro_without_a_report_is_held_against_what_it_showed_first() -> None:
    first, other = (
        FailureSection(kind=Kind.CRASH, exception=name, message="m") for name in ("A", "B")
    )
    checks = [
        checked("r", release, outcome, signature=signature)
        for release, outcome, signature in (
            ("2.0.1", "fixed", None),
            ("2.6.0", "reproduces", first),
            ("2.7.0", "reproduces", other),
            ("2.8.0", "reproduces", first),
        )
    ]
    plain = CheckSubject("r", "r", "text")
    told = [item.outcome for item in compare([plain], checks)]
    assert told == ["fixed", "reproduces", "different", "reproduces"]
    known = replace(plain, wanted=other.to_signature())
    assert compare([known], checks) == tuple(checks)  # each was compared when it ran

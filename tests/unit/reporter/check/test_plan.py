"""What is worked out before and after the runs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from reporter.check.plan import Plan, compare
from reporter.check.subject import CheckSubject, IssueOrigin
from reporter.core.kinds import Kind
from reporter.environments.release import Release, build_interpreter_release, parse
from reporter.report.sections.verdict import FailureSection
from reporter.triage.reading.stated_failure import StatedFailure, StatedSymptom
from tests.support.checking import checked, make_interpreter, plan
from tests.support.wheels import make_wheels


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


def of(release: Release) -> Plan:
    """A plan in one place."""
    return replace(plan(2), releases=(release,))


def test_plans_are_the_same_only_where_nothing_that_decides_differs() -> None:
    origins = [
        IssueOrigin("", StatedFailure(StatedSymptom.HANGS), trust=trust) for trust in (True, False)
    ]
    plans = [
        of(parse("2.6.0")),
        of(parse("2.6.0", "https://example.org/simple")),
        of(parse("2.6.0", None, "cu126")),
        of(parse("2.7.0")),
        replace(of(parse("2.6.0")), timeout=10.0),
        replace(of(parse("2.6.0")), fresh=True),
        replace(of(parse("2.6.0")), skip=True),
        *(Plan((CheckSubject("r", "k", "pass", origin=origin),), ()) for origin in origins),
    ]
    assert len({str(one.identity) for one in plans}) == len(plans)
    assert of(parse("2.6.0")).identity == plans[0].identity
    # who has a new password asks the same index
    logins = ["https://me:one@example.org/simple", "https://example.org/simple"]
    assert len({str(of(parse("2.6.0", login)).identity) for login in logins}) == 1


def test_a_wheel_that_was_built_anew_is_another_plan(tmp_path: Path) -> None:
    wheel = make_wheels(tmp_path, "2.99.0")["2.99.0"]
    before = of(parse(str(wheel))).identity
    assert of(parse(str(wheel))).identity == before
    os.utime(wheel, (1, 1))
    assert of(parse(str(wheel))).identity != before


@pytest.mark.parametrize(
    ("first", "then", "is_same"),
    [
        (("2.6.0+cpu", "a" * 40), ("2.6.0+cpu", "a" * 40), True),
        (("2.6.0+cpu", "a" * 40), ("2.7.0+cpu", "a" * 40), False),
        (("2.16.0.dev20261101", "a" * 40), ("2.16.0.dev20261101", "b" * 40), False),
        # built again from the same commit, with changes of the user's
        (("2.6.0a0+gitaaaaaaa", "a" * 40), ("2.6.0a0+gitaaaaaaa", "a" * 40), False),
        ((None, None), (None, None), True),
    ],
)
def test_an_interpreter_with_another_torch_is_another_plan(
    first: tuple[str | None, str | None],
    then: tuple[str | None, str | None],
    is_same: bool,
    tmp_path: Path,
) -> None:
    python, identities = tmp_path / "python", []
    for torch, git in (first, then):
        make_interpreter(python, torch, git)
        identities.append(of(build_interpreter_release(python)).identity)
    assert (identities[0] == identities[1]) == is_same

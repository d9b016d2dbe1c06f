"""What is claimed of an issue: a pure function of what it states, what its program did, and the
tool's verdict.

A measured verdict goes before what the program says of itself, since a posted program may check the
wrong thing or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reporter.core.kinds import CRASHES, RIGHT_BUT_SLOW, SILENT, Kind, assert_never
from reporter.triage.attempt import AttemptOutcome, Attempts
from reporter.triage.observers import find_disagreement
from reporter.triage.reading.stated_failure import (
    Match,
    StatedException,
    StatedFailure,
    StatedSymptom,
)
from reporter.triage.result import Status
from reporter.triage.sandboxed_verdict import CommandVerdict

_FAILURES: Mapping[StatedSymptom, frozenset[Kind]] = {
    StatedSymptom.RAISES: CRASHES,
    StatedSymptom.WRONG: SILENT,
    StatedSymptom.DIES: frozenset({Kind.PROCESS_DEATH}),
    StatedSymptom.HANGS: frozenset({Kind.HANG}),
}
#: As `torch/cuda`, `torch/xpu` and `c10` of torch 2.13 say that a device is not there.
_NO_DEVICE = re.compile(
    r"Torch not compiled with \w+ enabled|Found no NVIDIA driver|No (?:CUDA|HIP) GPUs are available"
    r"|No XPU devices are available|not linked with support for \w+ devices"
    r"|Cannot access accelerator device when none is available"
)
#: Verdicts that say nothing against the issue: the failure just did not show.
_NOTHING_SEEN = RIGHT_BUT_SLOW | {Kind.NOT_REPRODUCED, Kind.OUTSIDE}


def decide(
    says: StatedFailure,
    runs: Sequence[Attempts],
    judged: CommandVerdict | None,
    control: Attempts | None = None,
) -> tuple[Status, str]:
    """The status and why, in one sentence that names the release.

    Args:
        says: the failure that the issue states.
        runs: of the program as it was posted, for each interpreter; at least one.
        judged: the verdict of the tool's own run; None: there was none.
        control: runs without the compiler, where there are any.
    """
    ran = runs[choose_best_run(runs)]
    doubt = find_disagreement(ran, control, judged)
    if doubt is not None:
        return Status.CANNOT_JUDGE, f"With torch {ran.torch} {doubt}."
    verdict = judged if judged is not None and judged.kind else None
    found = _decide_by_verdict(says, ran, verdict) if verdict is not None else None
    found = found or _decide_by_run(says, ran)
    if found is not None:
        return found
    if verdict is None and judged is not None:
        return (
            Status.CANNOT_JUDGE,
            (
                f"With torch {ran.torch} the repro ends without an error, and there is no verdict:"
                f" {judged.trouble}."
            ),
        )
    everywhere = ", ".join(item.torch for item in runs)
    return (
        Status.NOT_REPRODUCED,
        f"It ends without an error with torch {everywhere}, and compiled calls do what eager does.",
    )


def state_judged_failure(judged: CommandVerdict) -> StatedFailure | None:
    """The failure of a verdict, as an issue would state it; None where it names none."""
    sort = next((sort for sort, kinds in _FAILURES.items() if judged.kind in kinds), None)
    if sort is None:
        return None
    marks = judged.marks
    if sort != StatedSymptom.RAISES:
        return StatedFailure(sort)
    raised = StatedException(marks.exception.rpartition(".")[2], marks.message)
    return StatedFailure(sort, (raised,)) if raised.name else None


def fails_as_stated(status: Status, runs: Sequence[Attempts]) -> bool:
    """Whether the posted program itself fails as the issue states: what counts on the CPU of a
    program for another device. A failure that cannot be compared may be the lack of the device.
    """
    ran = runs[choose_best_run(runs)]
    return status == Status.REPRODUCES and ran.decisive.match == Match.SAME


def lacks_device(runs: Sequence[Attempts]) -> bool:
    """Whether the program ends since a device is not there, and the issue states another
    failure.
    """
    shown = runs[choose_best_run(runs)].decisive
    return shown.match != Match.SAME and _NO_DEVICE.search(shown.failure) is not None


def _decide_by_verdict(
    says: StatedFailure, ran: Attempts, verdict: CommandVerdict
) -> tuple[Status, str] | None:
    """What the verdict decides, whatever the program says of itself."""
    with_torch = f"With torch {ran.torch}"
    if says.accepts and verdict.kind == Kind.INVALID_PROGRAM:
        return Status.NOT_REPRODUCED, f"{with_torch} the compiled call refuses what eager refuses."
    if not verdict.is_bug:
        if verdict.kind in _NOTHING_SEEN:
            return None
        # the posted program fails, and what it fails of is measured to be no bug
        return (
            Status.NO_BUG,
            f"{with_torch} the tool's verdict is {verdict.kind}: {verdict.summary}",
        )
    if ran.decisive.match == Match.SAME:
        return None
    finds = f"{verdict.kind} in {verdict.layer}"
    if says.sort == StatedSymptom.UNKNOWN or verdict.kind in _FAILURES.get(says.sort, ()):
        return Status.REPRODUCES, f"{with_torch} the tool finds {finds}: {verdict.summary}"
    return (
        Status.DIFFERENT,
        (
            f"The issue states: {says.describe()}. {with_torch} the tool finds {finds} instead:"
            f" {verdict.summary}"
        ),
    )


def _decide_by_run(says: StatedFailure, ran: Attempts) -> tuple[Status, str] | None:
    """What the posted program showed; None if it ended well."""
    shown, with_torch = ran.decisive, f"With torch {ran.torch}"
    if shown.match == Match.SAME:
        flaky = f" in {ran.same} of {ran.of} runs" if ran.same < ran.of else ""
        return Status.REPRODUCES, f"{with_torch} it fails as stated{flaky}."
    match shown.outcome:
        case AttemptOutcome.PASSES:
            return None
        case AttemptOutcome.STOPPED:
            return Status.CANNOT_JUDGE, f"{with_torch} the repro {shown.detail}."
        case AttemptOutcome.HANGS:
            said = "did not end in time, and the issue states no hang"
            return Status.CANNOT_JUDGE, f"{with_torch} the repro {said}."
        case AttemptOutcome.CANNOT_JUDGE:
            return Status.CANNOT_JUDGE, f"{with_torch} the repro says that it cannot judge here."
        case AttemptOutcome.FAILS | AttemptOutcome.DIES:
            fails = f"{with_torch} it fails with {shown.failure}"
            if shown.match == Match.UNCLEAR:
                return Status.REPRODUCES, f"{fails}; the issue does not say enough to compare."
            return Status.DIFFERENT, f"The issue states: {says.describe()}. {fails} instead."
    assert_never(shown.outcome)


def choose_best_run(runs: Sequence[Attempts]) -> int:
    """The interpreter to go on with: the newest torch in which it fails as stated, else fails, else
    the first.
    """
    ranked = sorted(
        range(len(runs)),
        key=lambda i: (
            runs[i].decisive.rank,
            [-part for part in parse_version_numbers(runs[i].torch)],
            i,
        ),
    )
    return ranked[0] if runs[ranked[0]].decisive.match is not None else 0


def parse_version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a release, in the order of time: (2, 6, 0)."""
    numbers = version.partition("+")[0].split(".")
    return tuple(int(part) if part.isdigit() else 0 for part in numbers[:3])

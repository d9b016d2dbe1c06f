"""Judges the runs of a repro: what each showed, against what was wanted, and whether that settles
the check.

The failure that was reported is believed as soon as a run shows it: nothing else gives the same
signature. So is what a repro did at the same place the last time. Everything else is decided by
fresh processes, and if those differ, the answer is that it is flaky.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from collectors.protocol.failure import FailureFrame
from reporter.core.answer import Answer
from reporter.core.candidate import find_failure
from reporter.core.kinds import STILL_FAILING, CandidateOutcome, CheckOutcome, Kind, assert_never
from reporter.core.signature import Signature, is_same_failure

#: Fresh processes that decide where runs differ; and at most, where a failure is known to come and
#: go.
RUNS, MOST_RUNS = 3, 10
#: What the runs of a flaky repro say together: behind another failure the bug may be hidden.
_SAYS_MOST = (
    CheckOutcome.REPRODUCES,
    CheckOutcome.DIFFERENT,
    CheckOutcome.CANNOT_JUDGE,
    CheckOutcome.FIXED,
)
#: How sure a pass of a flaky repro has to be no accident.
_DOUBT = 0.05
_NO_DEVICE = re.compile(
    r"Torch not compiled with CUDA|No CUDA GPUs|no NVIDIA driver|No HIP GPUs|not compiled with"
    r" XPU|needs? (CUDA|a GPU|XPU)|"
    r"CUDA is not available",
    re.IGNORECASE,
)
_NO_COMPILER = re.compile(
    r"InvalidCxxCompiler|No working C\+\+ compiler|Failed to find C compiler|g\+\+: (command )?not"
    r" found"
)
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")
_NOT_THERE = ("ImportError", "ModuleNotFoundError")
#: A package beside torch that torch itself or the repro would import, such as onnxscript.
_NO_PACKAGE = re.compile(r"^No module named '(?!torch\b|functorch\b)")
#: What Python says of a name that torch does not have, and torch of a setting; other attributes are
#: the program's own.
_LACKS = re.compile(
    r"^(?:partially initialized )?module '(?:torch|functorch|triton)\b[^']*' has no attribute"
    r"|^'(?:Tensor|Parameter|Generator|OpOverloadPacket|_OpNamespace' '\w+)' object has no"
    r" attribute"
    r"|^type object '(?:Tensor|Module)' has no attribute"
    r"|\bconfig\b\S* does not exist"
)


@dataclass(frozen=True)
class Observation:
    """What one run showed.

    `signature` is the failure, if it was one; `cold` says whether a fresh process showed it.
    """

    outcome: CheckOutcome
    detail: str = ""
    signature: Signature | None = None
    cold: bool = True


@dataclass(frozen=True)
class Decision:
    """What all runs together say; `runs` = (runs that showed it, runs)."""

    outcome: CheckOutcome
    detail: str
    signature: Signature | None = None
    runs: tuple[int, int] = (0, 0)


def observe(
    answer: Answer, wanted: Signature | None, limit: float, cold: bool = True
) -> Observation:
    """What a run shows of the `wanted` failure; without one any failure of the compiler counts.

    Args:
        answer: how the run ended.
        limit: seconds that the run had, for the sentence on one that did not end.
        cold: whether it was a fresh process, and no warm worker.
    """
    match answer.outcome:
        case CandidateOutcome.PASSES:
            return Observation(CheckOutcome.FIXED, cold=cold)
        case CandidateOutcome.CANNOT_JUDGE:
            said = _find_last_line(answer) or "the repro says so (exit code 125)"
            return Observation(CheckOutcome.CANNOT_JUDGE, said, cold=cold)
        case CandidateOutcome.CANCELLED:
            return Observation(CheckOutcome.CANNOT_JUDGE, "the run was cancelled", cold=cold)
        case (
            CandidateOutcome.FAILS
            | CandidateOutcome.DIED
            | CandidateOutcome.TIMEOUT
            | CandidateOutcome.BROKEN
        ):
            return _observe_failure(answer, wanted, limit, cold)
    assert_never(answer.outcome)


def _observe_failure(
    answer: Answer, wanted: Signature | None, limit: float, cold: bool
) -> Observation:
    found = find_failure(answer, wanted)
    why = _excuse(answer, wanted, found, limit)
    if why is not None:
        return Observation(CheckOutcome.CANNOT_JUDGE, why, cold=cold)
    if wanted is None:
        return Observation(CheckOutcome.REPRODUCES, describe(answer, found), found, cold)
    if found is not None and shows_wanted_failure(wanted, found):
        return Observation(CheckOutcome.REPRODUCES, describe(answer, found), found, cold)
    return Observation(CheckOutcome.DIFFERENT, describe(answer, found), found, cold)


def _excuse(
    answer: Answer, wanted: Signature | None, found: Signature | None, limit: float
) -> str | None:
    """Why a failure says nothing about the compiler; None if it does."""
    said, failure = answer.format_error(), answer.failure
    # of an exception its own words: warnings say of many a program for the CPU that no GPU is there
    words = f"{failure['message']}\n{failure.get('traceback', '')}" if failure else answer.stderr
    if wanted is not None and found is not None and shows_wanted_failure(wanted, found):
        return None
    if answer.out_of_memory:
        return "it ran out of memory"
    if answer.outcome == CandidateOutcome.TIMEOUT:
        return f"no end within {limit:g} s"
    if _NO_ROOM.search(words):
        return f"the disk is full ({_shorten(said)})"
    if _NO_DEVICE.search(words):
        return f"missing device ({_shorten(said)})"
    if _NO_COMPILER.search(f"{said}\n{words}\n{answer.stderr}"):
        return f"no working C++ compiler ({_shorten(said)})"
    lacks = answer.exception in _NOT_THERE or (
        answer.exception == "AttributeError" and _LACKS.search(answer.first_line)
    )
    alone = answer.exception in _NOT_THERE and _NO_PACKAGE.search(answer.first_line)
    needs = (
        answer.outcome == CandidateOutcome.BROKEN
        or alone
        or (lacks and _is_from_the_text(answer.frames))
    )
    if not needs:
        return None
    lacking = "environment" if alone else "torch"
    return f"the repro needs what this {lacking} does not have ({_shorten(said)})"


def _is_from_the_text(frames: Sequence[FailureFrame]) -> bool:
    """Whether the innermost frame is the repro's own, or that of a module that was asked for a name
    it lacks.
    """
    own = [frame for frame in frames if frame["function"] != "__getattr__"]
    return bool(own) and not own[-1]["torch"]


def shows_wanted_failure(wanted: Signature, found: Signature) -> bool:
    """Whether a run shows the wanted failure, perhaps of another release.

    Of a message that the repro's own code composed only the class is compared: torch's frames
    around it differ from release to release. A report that tells no frames is taken at its words.
    What the program leaves to chance was there when it was reported.
    """
    found = replace(found, undefined=())
    if wanted.kind == Kind.CRASH_ON_RECOMPILE:
        wanted = replace(wanted, kind=Kind.CRASH)
    if is_same_failure(wanted, found):
        return True
    is_own = found.message is None and (wanted.message is None or not wanted.frames)
    return (
        wanted.kind == found.kind == Kind.CRASH and wanted.exception == found.exception and is_own
    )


def describe(answer: Answer, found: Signature | None) -> str:
    """The failure in one line for people."""
    if answer.failure:
        return _shorten(answer.format_error())
    if answer.signal:
        return f"killed by {answer.signal}"
    if answer.outcome == CandidateOutcome.TIMEOUT:
        return "no end in time"
    return found.describe() if found is not None else f"exit code {answer.exit}"


def decide_from_runs(
    observations: Sequence[Observation],
    expected: CheckOutcome | None,
    reported: tuple[int, int] = (0, 0),
    is_known: bool = True,
) -> Decision | None:
    """What the runs so far say, or None if another fresh process has to run.

    Args:
        observations: of the runs, in their order.
        expected: what the place showed the last time; None: it was not asked.
        reported: in how many of how many runs the repro failed at first.
        is_known: whether the wanted failure is known, so that showing it is no accident.
    """
    if not observations:
        return None
    cold = [item for item in observations if item.cold]
    if _comes_and_goes(reported):
        return _decide_flaky(observations, cold, reported)
    first = observations[0]
    if len(observations) == 1:
        is_enough = (
            first.outcome == expected != CheckOutcome.DIFFERENT
            or (first.outcome == CheckOutcome.REPRODUCES and (first.cold or is_known))
            or (first.outcome == CheckOutcome.CANNOT_JUDGE and first.cold)
        )
        return _build_decision(first, observations) if is_enough else None
    if all(_show_same(first, item) for item in observations):
        return _build_decision(cold[0], observations)
    if len(cold) < RUNS:
        return None
    if all(_show_same(cold[0], item) for item in cold):
        return _build_decision(cold[0], cold)
    counts = Counter(item.outcome for item in cold)
    told_of = next((item for item in cold if item.outcome in STILL_FAILING), cold[0])
    hits = counts[CheckOutcome.REPRODUCES]
    detail = f"flaky: fails in {hits} of {len(cold)} fresh processes ({told_of.detail})"
    return Decision(CheckOutcome.CANNOT_JUDGE, detail, told_of.signature, (hits, len(cold)))


def _decide_flaky(
    observations: Sequence[Observation], cold: Sequence[Observation], reported: tuple[int, int]
) -> Decision | None:
    """A failure that was flaky from the start: one sight is enough, and its absence needs enough
    runs, all of which pass.
    """
    hit = next((item for item in observations if item.outcome == CheckOutcome.REPRODUCES), None)
    if hit is not None:
        return _build_decision(hit, observations)
    if cold and cold[0].outcome == CheckOutcome.CANNOT_JUDGE:  # as all others will be
        return _build_decision(cold[0], cold)
    if len(cold) < count_needed_passes(reported):
        return None
    return _build_decision(min(cold, key=lambda item: _SAYS_MOST.index(item.outcome)), cold)


def _comes_and_goes(reported: tuple[int, int]) -> bool:
    return 0 < reported[0] < reported[1]


def count_needed_passes(reported: tuple[int, int]) -> int:
    """How many passes make sure that a failure seen in n of m runs is gone (to 95 %), at most
    ten.
    """
    chance = reported[0] / reported[1]
    return min(MOST_RUNS, math.ceil(math.log(_DOUBT) / math.log(1 - chance)))


def _show_same(one: Observation, two: Observation) -> bool:
    if one.outcome != two.outcome:
        return False
    if one.outcome != CheckOutcome.DIFFERENT or one.signature is None or two.signature is None:
        return True
    return shows_wanted_failure(one.signature, two.signature)


def _build_decision(chosen: Observation, observations: Sequence[Observation]) -> Decision:
    hits = sum(item.outcome == chosen.outcome for item in observations)
    return Decision(chosen.outcome, chosen.detail, chosen.signature, (hits, len(observations)))


def _find_last_line(answer: Answer) -> str:
    for text in (answer.detail, answer.stdout, answer.stderr):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return _shorten(lines[-1])
    return ""


def _shorten(text: str) -> str:
    return " ".join(text.split())[:200]

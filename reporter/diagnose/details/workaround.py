"""A workaround that was found on the repro, tried on the recorded call, and what it costs there."""

from __future__ import annotations

from concurrent.futures import TimeoutError
from dataclasses import dataclass, replace

from reporter.core.kinds import RungOutcome
from reporter.diagnose.details.experiment import Variation, make_call_experiment
from reporter.diagnose.diagnosis import Diagnosis
from reporter.recording.call_session import compute_longest_wait
from reporter.report.sections.details import CulpritSection

#: Further calls that are timed on each side, at most.
_TIMED = 6


@dataclass(frozen=True)
class TriedWorkaround:
    """What the recorded call shows under a workaround: whether it is right, and then how many times
    as long as in eager mode a further call takes, where that could be timed.
    """

    is_right: bool
    relative_time: float | None = None


def try_on_call(
    workaround: Variation, diagnosis: Diagnosis, timeout: float
) -> TriedWorkaround | None:
    """Tries a workaround on the recorded call; None where that does not answer in time.

    Args:
        workaround: how it is compiled, with caches of its own.
        timeout: seconds for one call with its compilation.
    """
    experiment = make_call_experiment(diagnosis, timeout, timed=_TIMED)
    wait = 2 * compute_longest_wait(timeout)  # one for the run, one for its comparison
    try:
        trial = experiment(replace(workaround, backend=None)).result(timeout=wait)
    except TimeoutError:
        return None
    if trial.bug is None or trial.outcome == RungOutcome.TIMEOUT:  # slow is not stuck
        return None
    return TriedWorkaround(not trial.bug, None if trial.bug else trial.relative_time)


def describe(found: CulpritSection) -> str:
    """What was seen of the workaround on the recorded call, to follow "it is right"; empty where
    that is nothing.
    """
    if not found.on_call:
        return ""
    said = ", also on the original call"
    if found.relative_time is None:
        return said
    return f"{said}, which then takes {_name_time(found.relative_time)} in eager mode"


def _name_time(relative: float) -> str:
    """A ratio of times in words that a second measurement would choose as well; how much is gained
    depends on what else the machine does.
    """
    if relative < 0.67:
        return "less time than"
    return "about as long as" if relative < 1.5 else f"{round(relative)} times as long as"

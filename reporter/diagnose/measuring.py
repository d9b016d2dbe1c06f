"""What the steps of the judgement share: climbing the backends, naming the layer, counting, and the
verdict's frame.

A verdict is made from rungs that were measured; `cited` names those that prove it, so that it can
be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reporter.diagnose.ladder import Climber, MeasuredRung
from reporter.diagnose.verdict import Diagnosis

LAYERS = {
    "eager": "dynamo",
    "aot_eager": "aot_autograd",
    "aot_eager_decomp_partition": "decomposition",
    "inductor": "inductor",
    "custom": "backend",
}
#: How often a failure that does not come back at once is tried again.
REPEATS = 5
#: Seconds of the script's own call from which on rungs that cannot change the verdict are left out.
LONG = 30.0


def make_diagnosis(
    climber: Climber, kind: str, layer: str, summary: str, cited: Iterable[str] = (), **details: Any
) -> Diagnosis:
    """A verdict on the climber's finding; `cited` are the rungs that show it."""
    return Diagnosis(
        kind,
        layer,
        summary,
        ladder=climber.ladder,
        finding=climber.finding,
        cited=tuple(cited),
        **details,
    )


def climb(climber: Climber) -> tuple[str, ...]:
    """The user's compiled call as it stood, then each backend afresh, all side by side; returns the
    rungs' names.
    """
    own = climber.own_name()
    middle = ("aot_eager", "aot_eager_decomp_partition") if own == "inductor" else ()
    return _measured(climber, ("compiled", "eager", *middle, own))


def climb_from_the_top(climber: Climber) -> tuple[str, ...]:
    """As `climb`, but where one compile takes long, the rungs below one that runs to its end are
    left out.

    For failures that end the compile: whatever Inductor is given, the backends below it have then
    been through.
    """
    finding = climber.finding
    if finding.seconds < LONG or finding.replay or climber.own_name() != "inductor":
        return climb(climber)
    exact = climber.own_name() if finding.grads else "compiled"
    names = _measured(climber, (exact, "aot_eager_decomp_partition"))
    return names if climber.ladder[names[-1]].good else climb(climber)


def _measured(climber: Climber, names: tuple[str, ...]) -> tuple[str, ...]:
    climber.ahead(names)
    for name in names:
        climber.measure(name)
    return names


def first_bad(climber: Climber, bad: Callable[[MeasuredRung], bool]) -> str:
    """The layer of the lowest rung that shows the symptom; the top one if only the user's exact
    call does.
    """
    own = climber.own_name()
    for name in ("eager", "aot_eager", "aot_eager_decomp_partition", own):
        if bad(climber.ladder[name]):
            return LAYERS.get(name, "backend")
    return LAYERS.get(own, "backend")


def steadiness(climber: Climber, bad: Callable[[MeasuredRung], bool]) -> tuple[int, int]:
    """How often the user's own call showed the symptom: (times seen, times run), the script's call
    included.

    Where no repetition has shown it yet, it is repeated a few times more.
    """
    own = [climber.ladder[name] for name in ("compiled", climber.own_name())]
    runs = [rung for rung in own if rung.outcome != "skipped"]
    if climber.finding.grads:  # the reused call was made without the gradients that show it
        runs = runs[1:] or runs
    if not any(bad(rung) for rung in runs):
        runs += climber.repeats(REPEATS)
    own_call = int(climber.own_call_shows_it)
    return sum(bad(rung) for rung in runs) + own_call, len(runs) + own_call


def nowhere_else(climber: Climber, seen: tuple[int, int]) -> bool:
    """Whether no repetition has shown what `steadiness` counted."""
    return seen[0] == int(climber.own_call_shows_it)


def often(seen: tuple[int, int]) -> str:
    """A clause for a failure that is not always there; empty if it is."""
    return "" if seen[0] == seen[1] else f"; seen in {seen[0]} of {seen[1]} runs"

"""What the steps of the judgment share: climbing the backends, naming the layer, counting, and the
verdict's frame.

A verdict is made from rungs that were measured; `cited` names those that prove it, so that it can
be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reporter.core.kinds import (
    UNBOUND,
    Backend,
    Compiler,
    Kind,
    Layer,
    RungOutcome,
    Symptom,
    assert_never,
    classify_backend,
)
from reporter.diagnose.diagnosis import Diagnosis, VerdictBasis
from reporter.diagnose.ladder import LadderRunner, MeasuredRung
from reporter.diagnose.rungs import COMPILED, DECOMPOSED, EXPORT, RUNGS_OF, TORCH_COMPILE

#: How often a failure that does not come back at once is tried again.
_REPEATS = 5
#: Seconds of the script's own call from which on rungs that cannot change the verdict are left out.
LONG = 8.0


def make_diagnosis(
    runner: LadderRunner,
    kind: Kind,
    layer: Layer,
    summary: str,
    cited: Iterable[str] = (),
    reproduced: tuple[int, int] = (0, 0),
    **details: Any,
) -> Diagnosis:
    """A verdict on the runner's finding.

    Args:
        layer: the one at fault, `NONE` where none is.
        summary: sentences for people.
        cited: names of the rungs that show it.
        reproduced: (times seen, times run), as `measure_steadiness` counts.
        details: further fields of `Diagnosis`.
    """
    basis = VerdictBasis(runner.finding, runner.ladder, tuple(cited), reproduced)
    return Diagnosis(kind, layer, summary, basis=basis, **details)


def climb(runner: LadderRunner) -> tuple[str, ...]:
    """The user's compiled call as it stood, then each backend afresh, all side by side; returns the
    rungs' names.
    """
    compiler = runner.finding.original.compiler
    if compiler in RUNGS_OF:
        return _measure(runner, RUNGS_OF[compiler])
    return _measure(runner, (COMPILED, *runner.list_backends()))


def climb_from_the_top(runner: LadderRunner) -> tuple[str, ...]:
    """As `climb`, but where one compile takes long, the rungs below one that runs to its end are
    left out.

    For failures that end the compile: whatever Inductor is given, the backends below it have then
    been through.
    """
    finding = runner.finding
    if (
        finding.original.seconds < LONG
        or finding.original.replay
        or runner.find_own_rung() != Backend.INDUCTOR
    ):
        return climb(runner)
    own_call = runner.find_own_rung() if finding.grads else COMPILED
    names = _measure(runner, (own_call, Backend.AOT_EAGER_DECOMP_PARTITION.value))
    if runner.ladder[names[-1]].agrees:
        return names
    names = climb(runner)
    _sort_rungs(runner, names)
    return names


def climb_while_it_hangs(runner: LadderRunner) -> tuple[str, ...]:
    """As `climb`, for a call that may never end: the lowest backend first, one after another, and
    none above the first that does not end, since a higher one goes through the lower one's steps.

    Beside them the user's compiled call runs as it stood. So all of it takes the limit of one rung,
    and what the healthy ones need.
    """
    if runner.finding.original.compiler in RUNGS_OF:
        return climb(runner)
    runner.start_ahead((COMPILED,))
    names = [COMPILED]
    for name in runner.list_backends():
        names.append(name)
        if runner.measure(name).outcome == RungOutcome.TIMEOUT:
            break
    runner.measure(COMPILED)
    _sort_rungs(runner, names[1:])  # the ladder has the user's call first
    return tuple(names)


def _sort_rungs(runner: LadderRunner, names: Iterable[str]) -> None:
    """Puts rungs in this order, behind all others: as they are read, not as they were measured."""
    rungs = runner.ladder.rungs
    for name in names:
        rungs[name] = rungs.pop(name)


def _measure(runner: LadderRunner, names: tuple[str, ...]) -> tuple[str, ...]:
    runner.start_ahead(names)
    for name in names:
        runner.measure(name)
    return names


def find_failing_layer(runner: LadderRunner, bad: Callable[[MeasuredRung], bool]) -> Layer:
    """The layer of the lowest rung that shows the symptom; the top one if only the user's exact
    call does.
    """
    match runner.finding.original.compiler:
        case Compiler.EXPORT:
            return Layer.EXPORT
        case Compiler.AOTI:
            shows = {name: bad(runner.ladder[name]) for name in (EXPORT, DECOMPOSED)}
            if shows[EXPORT]:
                return Layer.EXPORT
            if shows[DECOMPOSED]:
                return Layer.DECOMPOSITION
            alone = runner.ladder[TORCH_COMPILE]
            return Layer.AOTI if alone.agrees and not bad(alone) else Layer.INDUCTOR
        case Compiler.ONNX:
            return Layer.EXPORT if bad(runner.ladder[EXPORT]) else Layer.ONNX
        case Compiler.EAGER:
            return Layer.EAGER
        case Compiler.COMPILE:
            backends = runner.list_backends()
            lowest = next((name for name in backends if bad(runner.ladder[name])), backends[-1])
            if lowest == Backend.AOT_EAGER and _is_in_decomposition(runner, bad):
                return Layer.DECOMPOSITION
            return classify_backend(lowest)
    assert_never(runner.finding.original.compiler)


def _is_in_decomposition(runner: LadderRunner, bad: Callable[[MeasuredRung], bool]) -> bool:
    """Whether what AOTAutograd's trace shows comes from a decomposition that it met; not asked of
    what may not end.
    """
    if runner.finding.symptom == Symptom.HANG:
        return False
    without = runner.measure(UNBOUND)
    if runner.finding.symptom == Symptom.ACCEPTS:  # what returns is at fault there
        return without.outcome == RungOutcome.RAISES
    return without.agrees and not bad(without)


def measure_steadiness(
    runner: LadderRunner, bad: Callable[[MeasuredRung], bool], afresh: bool = True
) -> tuple[int, int]:
    """How often the user's own call showed the symptom: (times seen, times run), the script's call
    included.

    Where no repetition has shown it yet, it is repeated five times more.

    Args:
        bad: whether a rung shows the symptom.
        afresh: False counts the graph that the program had, and none that is compiled anew.
    """
    names = (COMPILED, runner.find_own_rung()) if afresh else (COMPILED,)
    own = [runner.ladder[name] for name in names]
    runs = [rung for rung in own if rung.outcome != RungOutcome.SKIPPED]
    if runner.finding.grads:  # the reused call was made without the gradients that show it
        runs = runs[1:] or runs
    if not any(bad(rung) for rung in runs):
        runs += runner.repeat_call(_REPEATS)
    own_call = int(runner.own_call_shows_it)
    return sum(bad(rung) for rung in runs) + own_call, len(runs) + own_call


def is_never_repeated(runner: LadderRunner, seen: tuple[int, int]) -> bool:
    """Whether no repetition has shown what `measure_steadiness` counted."""
    return seen[0] == int(runner.own_call_shows_it)


def describe_frequency(seen: tuple[int, int]) -> str:
    """A clause for a failure that is not always there; empty if it is."""
    return "" if seen[0] == seen[1] else f"; seen in {seen[0]} of {seen[1]} runs"

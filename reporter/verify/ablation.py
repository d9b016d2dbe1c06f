"""The ablation table: the repro's own text under every backend, mode and `dynamic`, side by side in
warm workers.

Overrides replace the repro's torch.compile arguments. A row without `dynamic=` in its name has the
repro's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from anonymizer.graph.repro import ReproAssertion
from collectors.protocol.repro_words import CACHED
from collectors.protocol.variation import Overrides
from reporter.core.answer import Answer
from reporter.core.candidate import find_failure
from reporter.core.kinds import (
    BACKEND_OF,
    CRASHES,
    CUSTOM,
    DYNAMIC_SUFFIX,
    INDUCTOR_LAYERS,
    UNBOUND,
    WRONG_AT_ONCE,
    Backend,
    CandidateOutcome,
    Compiler,
    Kind,
    Layer,
    RungOutcome,
    assert_never,
)
from reporter.core.signature import Signature, read_float64_errors
from reporter.diagnose.rungs import CASTS_SETTING, EMULATED_CASTS, FALLBACK_RANDOM, RANDOM_SETTING
from reporter.execution.worker_pool import WorkerPool
from reporter.report.sections.measurements import RungRow

MODES = ("reduce-overhead", "max-autotune")
_DYNAMIC = (None, True, False)


def list_variants(
    assertion: ReproAssertion, layer: Layer | None, kind: Kind
) -> Iterator[tuple[str, Overrides]]:
    """Names and overrides of the rows for a bug of `layer` and `kind`.

    `dynamic` is varied for the repro's own backend alone, and modes are tried where the bug is in
    the code that Inductor generates: elsewhere they cannot differ. A row overrides what differs
    from the repro, so that whoever asks the same later has the answer.
    """
    if assertion.compiler != Compiler.COMPILE:
        return
    written = assertion.read_backend() or Backend.INDUCTOR.value
    names = [name.value for name in Backend]
    if layer == Layer.BACKEND:
        names = [names[0], CUSTOM]
        written = CUSTOM
    for name in names:
        yield name, _build_overrides(assertion, {} if name == written else {"backend": name})
    top: Overrides = {} if names[-1] == written else {"backend": names[-1]}
    for dynamic in _DYNAMIC:
        if dynamic is not assertion.read_dynamic():
            yield f"{names[-1]}{DYNAMIC_SUFFIX}{dynamic}", _build_overrides(
                assertion, {**top, "dynamic": dynamic}
            )
    if layer in INDUCTOR_LAYERS and kind not in CRASHES:
        for mode in MODES:
            yield f"mode={mode}", _build_overrides(assertion, {**top, "mode": mode})
    if layer in INDUCTOR_LAYERS and kind in WRONG_AT_ONCE:
        for name, setting in ((EMULATED_CASTS, CASTS_SETTING), (FALLBACK_RANDOM, RANDOM_SETTING)):
            if setting not in dict(assertion.config):
                yield name, _build_overrides(assertion, {"config": {setting: True}})


def _build_overrides(assertion: ReproAssertion, overrides: Overrides) -> Overrides:
    """As the search for the culprit asks: the caches are off, unless the failure is theirs."""
    return {"fresh": CACHED not in assertion.config, **overrides}


def run_ablation(
    pool: WorkerPool, text: str, assertion: ReproAssertion, wanted: Signature
) -> Iterator[RungRow]:
    """Runs every variant of the repro; the rows in order, as `report.json` has them.

    Args:
        pool: runs them; each gets a multiple of its time limit, but a hang no more than that.
        text: the complete repro.
        assertion: its own, of which a variant overrides what differs.
        wanted: the failure that a variant shows or not.
    """
    rows = list(list_variants(assertion, wanted.layer, wanted.kind))
    limit = None if wanted.kind == Kind.HANG else pool.ample_limit
    futures = [(name, pool.submit(text, limit, overrides)) for name, overrides in rows]
    shown = [_build_row(name, future.result(), wanted) for name, future in futures]
    for each in shown:
        yield each
        if each.rung == Backend.AOT_EAGER and _shows(each, wanted):
            overrides = _build_overrides(
                assertion, {"backend": Backend.AOT_EAGER.value, "unbound": True}
            )
            yield _build_row(UNBOUND, pool.submit(text, limit, overrides).result(), wanted)


def find_lower_layer(rows: Sequence[RungRow], wanted: Signature) -> Layer | None:
    """The layer of the lowest backend under which the repro shows its failure, where that is one
    below the layer that the script's own call was found to fail in; else None.

    A smaller program may fail before it comes to the layer that the whole one failed in.
    """
    order = list(BACKEND_OF)
    if wanted.layer not in order:
        return None
    found = {row.rung: row for row in rows if _shows(row, wanted)}
    below = (layer for layer in order[: order.index(wanted.layer)] if BACKEND_OF[layer] in found)
    lowest = next(below, None)
    unbound = next((row for row in rows if row.rung == UNBOUND), None)
    if lowest != Layer.AOT_AUTOGRAD or unbound is None or unbound.outcome != RungOutcome.OK:
        return lowest
    return Layer.DECOMPOSITION if wanted.layer != Layer.DECOMPOSITION else None


def _shows(row: RungRow, wanted: Signature) -> bool:
    match row.outcome:
        case RungOutcome.RAISES:
            return wanted.kind in CRASHES and row.detail == str(wanted.exception)
        case RungOutcome.DIED:
            return wanted.kind == Kind.PROCESS_DEATH
        case RungOutcome.DIFFERS:
            return wanted.kind not in (*CRASHES, Kind.PROCESS_DEATH, Kind.HANG)
        case _:
            return False


def _build_row(name: str, answer: Answer, wanted: Signature | None = None) -> RungRow:
    """One row: did the repro, with one setting changed, still show a failure?"""
    found = find_failure(answer, wanted)
    detail = ""
    if found is not None and answer.outcome == CandidateOutcome.FAILS:
        crash = found.kind == Kind.CRASH
        detail = str(found.exception) if crash else answer.first_line[:200]
    return RungRow(
        name,
        _classify_outcome(answer, found),
        detail,
        *read_errors(answer),
        round(answer.seconds, 2),
    )


def _classify_outcome(answer: Answer, found: Signature | None) -> RungOutcome:
    match answer.outcome:
        case CandidateOutcome.PASSES:
            return RungOutcome.OK
        case CandidateOutcome.DIED:
            return RungOutcome.DIED
        case CandidateOutcome.TIMEOUT:
            return RungOutcome.TIMEOUT
        case CandidateOutcome.FAILS if found is not None:
            return RungOutcome.RAISES if found.kind == Kind.CRASH else RungOutcome.DIFFERS
        case (
            CandidateOutcome.FAILS
            | CandidateOutcome.CANNOT_JUDGE
            | CandidateOutcome.BROKEN
            | CandidateOutcome.CANCELLED
        ):
            return RungOutcome.SKIPPED
    assert_never(answer.outcome)


def read_errors(answer: Answer) -> tuple[float | None, float | None, float | None]:
    """The numbers of a repro's own assertion message.

    Returns:
        the largest absolute error, then the root mean squares by which compiled and eager are off
        float64; None for each that the message does not have. Torch's error between infinities,
        NaN, is none.
    """
    message = answer.message
    if (errors := read_float64_errors(message)) is not None:
        eager, compiled = errors
        return None, compiled, eager
    plain = re.search(r"(?:max abs error|Greatest absolute difference:) ([-+\w.]+)", message)
    error = float(plain.group(1)) if plain else math.nan
    return None if math.isnan(error) else error, None, None

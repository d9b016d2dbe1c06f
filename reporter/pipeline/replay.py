"""`replay`: what a report's recording captured, as whole programs that run without the script, in
any interpreter.

Dynamo's own record and replay pickles frames and rarely comes back. Our recording holds the
captured graphs as data, so each is written out as a program, before any reduction, and run in a
fresh process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from anonymizer.graph.expressions import NotPublicError
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.errors import UsageError
from reporter.core.formatting import format_program
from reporter.core.json_values import Json
from reporter.core.kinds import CandidateOutcome, CheckOutcome
from reporter.core.settings import Options
from reporter.execution import interpreter
from reporter.execution.fresh_process import run_cold
from reporter.reduce import initial_candidates, source_candidates
from reporter.report.captured_call import CapturedCall
from reporter.report.folder import PRIVATE, RECORDING, write_private

_MOST = 6
#: What a program says that does not show the failure.
_OTHERWISE: Mapping[CandidateOutcome, CheckOutcome] = {
    CandidateOutcome.PASSES: CheckOutcome.FIXED,
    CandidateOutcome.FAILS: CheckOutcome.DIFFERENT,
    CandidateOutcome.DIED: CheckOutcome.DIFFERENT,
}


@dataclass(frozen=True)
class ReplayResult:
    """What the recorded call did, one row per program: `path`, `outcome` (reproduces, fixed,
    different, cannot_judge), `detail`.
    """

    rows: tuple[Json, ...]

    @property
    def exit_code(self) -> int:
        """1: the failure shows, 0: it does not, 125: it cannot be told."""
        outcomes = {row["outcome"] for row in self.rows}
        if CheckOutcome.REPRODUCES in outcomes:
            return 1
        return 0 if outcomes & {CheckOutcome.FIXED, CheckOutcome.DIFFERENT} else 125

    def to_json(self) -> Json:
        """The document of --json."""
        return {"schema_version": 1, "results": list(self.rows)}

    def summarize(self) -> list[str]:
        """A line for each program."""
        return [f"{row['outcome']:13} {row['detail']}  {row['path']}" for row in self.rows]


def replay(report: Path, options: Options) -> ReplayResult:
    """Runs the programs of a report's recording until one shows the failure.

    Raises:
        UsageError: there is no recording of a failure, or the interpreter cannot be used.
    """
    captured = CapturedCall.load(report / PRIVATE / RECORDING)
    if captured.verdict.signature is None or captured.material.assertion is None:
        raise UsageError(
            f"{report} holds a recording without a failure; there is nothing to replay"
        )
    python = interpreter.find(options) if options.python else Path(captured.surroundings.python)
    interpreter.probe(python)
    folder = report / PRIVATE / "replay"
    folder.mkdir(mode=0o700, exist_ok=True)
    rows: list[Json] = []
    interesting = make_matcher(captured.verdict.signature)
    for number, text in enumerate(islice(_list_programs(captured), _MOST)):
        path = folder / f"program{number}.py"
        write_private(path, text)
        answer = run_cold(python, text, options.timeout, describe=True)
        outcome = (
            CheckOutcome.REPRODUCES
            if interesting(answer)
            else _OTHERWISE.get(answer.outcome, CheckOutcome.CANNOT_JUDGE)
        )
        rows.append(
            {
                "path": str(path),
                "outcome": outcome,
                "detail": (answer.first_line or answer.outcome)[:120],
            }
        )
        if outcome == CheckOutcome.REPRODUCES:
            break
    if not rows:
        raise UsageError(
            f"nothing of the recording in {report} can be written as a program; run"
            f" {report / 'repro.py'}"
        )
    return ReplayResult(tuple(rows))


def _list_programs(captured: CapturedCall) -> Iterator[str]:
    """Whole captured graphs, then the rewritten source, as formatted texts; what has no public form
    is passed over.
    """
    for candidate in _list_candidates(captured):
        try:
            yield format_program(candidate.render())
        except NotPublicError:
            continue


def _list_candidates(captured: CapturedCall) -> Iterator[Candidate]:
    assert captured.material.assertion is not None
    for graph, way in captured.material.captures:
        if "unsupported" not in graph:
            yield from initial_candidates.build_graph_candidates(
                graph, way, captured.material.assertion, captured.verdict.layer
            )
    content = source_candidates.rewrite_program(captured, say=lambda _: None)
    for shown, assertion in (
        source_candidates.make_judgeable(content, captured.material.assertion)
        if content is not None
        else ()
    ):
        yield from initial_candidates.build_source_candidates(
            shown, assertion, captured.verdict.layer
        )

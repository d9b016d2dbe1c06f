"""What a report shows beyond its verdict, measured on the finished repro in fresh processes, never
on the recording.

The regression test is held against the repro it was made from: it counts only if it fails in the
same way here, and passes in every interpreter in which the repro does. The numbers of the pictures
come from `collectors.dynamo.repro_measurements`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from collectors.protocol.candidates import MeasurementLine, MeasurementRequest
from collectors.protocol.graphs import NumberedGraph
from reporter.core.answer import Answer
from reporter.core.formatting import format_program
from reporter.core.json_values import Json
from reporter.core.kinds import SILENT, WRONG_VALUES
from reporter.publish.result import PicturesAndTest
from reporter.reduce.workers import WorkerSet
from reporter.report.folder import TEST
from reporter.report.sections.base import build_section
from reporter.report.sections.finished_repro import TestSection
from reporter.report.sections.pictures import PictureSection
from reporter.verify.plain import PlainRepro
from templates.regression import ReproducedFailure, render_tests, write_failing_program

#: What the pictures may take: so many times a cold run of the repro, and never less than these
#: seconds. What is not measured by then is left out.
MOST_RUNS, LEAST_SECONDS = 6.0, 30.0
#: Operations of the graph that are measured, at most.
_POSITIONS = 8


@dataclass(frozen=True)
class FinishedRepro:
    """The finished repro, and the workers that can run it: cold, warm, in other interpreters.

    `failure` is what its test says of the failure; `shows` says whether an answer shows it.
    """

    program: PlainRepro
    failure: ReproducedFailure
    workers: WorkerSet
    shows: Callable[[Answer], bool]


def measure_test_and_pictures(
    repro: FinishedRepro, timeout: float, seconds: float, jobs: int
) -> PicturesAndTest:
    """Measures everything for the report of a repro.

    Args:
        timeout: seconds for one process.
        seconds: what one cold run of the repro took.
        jobs: processes at a time.
    """
    limit = min(timeout, max(LEAST_SECONDS, MOST_RUNS * seconds))
    wanted = choose_measurements(repro.failure.kind, 0.7 * limit)
    with ThreadPoolExecutor(max_workers=2 if jobs > 1 else 1) as threads:
        looking = threads.submit(repro.workers.fresh.look, repro.program.harness, limit, wanted)
        test, shown = _choose_test(repro, timeout)
        lines = looking.result()
    numbers, cells = gather_lines(lines)
    return PicturesAndTest(test, shown, numbers, cells)


def choose_measurements(kind: str, seconds: float) -> MeasurementRequest:
    """What is measured of a failure of this kind, in so many seconds."""
    return {
        "values": kind in WRONG_VALUES,
        # where the values agree, their course along the graph says nothing of the failure
        "positions": 0 if kind in SILENT - WRONG_VALUES else _POSITIONS,
        "seconds": seconds,
    }


def _choose_test(repro: FinishedRepro, timeout: float) -> tuple[str, TestSection]:
    """The first of the possible tests that does here and elsewhere what the repro does; the last
    one if none does.
    """
    test, shown = "", TestSection(path=TEST)
    for rendered in render_tests(repro.failure, repro.program.text):
        test = format_program(rendered)
        probe = write_failing_program(test, repro.failure)
        if not repro.shows(repro.workers.pool.submit(probe).result()):
            continue
        answer = repro.workers.fresh.run_fresh(probe, timeout)
        fails = repro.shows(answer)
        right = [
            contrast.info.torch
            for contrast in repro.workers.contrasts
            if contrast.run_cold(probe, 1, 1)[0].passed
        ]
        shown = TestSection(path=TEST, fails_here=fails, passes_on=tuple(right))
        if fails and len(right) == len(repro.workers.contrasts):
            break
    return test, shown


def _build_point(line: MeasurementLine) -> Json:
    if line.get("begun"):  # stands if nothing follows: the process ended in it
        return {"error": "no end"}
    return {key: _make_finite(line.get(key)) for key in ("eager", "compiled", "reference", "error")}


def gather_lines(
    lines: Sequence[MeasurementLine],
) -> tuple[PictureSection, list[list[float | None]]]:
    """The lines of `collectors.dynamo.repro_measurements` as the report has them.

    Returns:
        what was measured, and apart from it the rows of the error map: the largest absolute error
        in each cell, None where it is not finite; no rows where there is no map.
    """
    found: Json = {}
    cells: list[list[float | None]] = []
    graphs: dict[int, NumberedGraph] = {}
    points: dict[int, dict[int, Json]] = {}
    for line in lines:
        if "error_map" in line:
            found["error_map"] = {k: v for k, v in line["error_map"].items() if k != "cells"}
            cells = line["error_map"]["cells"]
        elif "graph_breaks" in line:
            found["graph_breaks"] = line["graph_breaks"]
        elif isinstance(graph := line.get("graph"), int):
            points.setdefault(graph, {})[line["position"]] = _build_point(line)
        elif graph is not None:
            graphs[graph["graph"]] = graph
    if graphs:
        found["graphs"] = len(graphs)
    measured = [index for index in points if points[index]]
    if measured:
        chosen = next(
            (i for i in measured if any(map(_has_parted, points[i].values()))), measured[-1]
        )
        nodes = graphs[chosen]["nodes"]
        rows = [
            {"position": at, "operator": nodes[at]["operator"], **points[chosen][at]}
            for at in sorted(points[chosen])
        ]
        found["divergence"] = {"graph": chosen, "of": len(nodes), "points": rows}
    return build_section(PictureSection, found), cells


def _has_parted(point: Mapping[str, Any]) -> bool:
    """Whether eager and compiled are no longer alike after an operation."""
    eager, compiled = point.get("eager"), point.get("compiled")
    if point.get("error"):
        return True
    return eager is not None and compiled is not None and compiled > 10 * eager + 1e-12


def _make_finite(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    return value

"""What a report's pictures show is measured on the public repro, in a process of its own."""

from __future__ import annotations

import math
from typing import Any

import torch

from collectors.dynamo.repro_measurements import build_error_map
from collectors.protocol.candidates import MeasurementLine
from reporter.execution.fresh_process import run_fresh
from reporter.pipeline.test_and_pictures import gather_lines
from tests.support import interpreter
from tests.support.scripts import text

REQUEST = {"values": True, "positions": 8, "seconds": 60}


def look(name: str, **changes: Any) -> list[MeasurementLine]:
    program = text(f"measurements/{name}")
    request = {"id": 0, "text": program, "timeout": 120, "measure": {**REQUEST, **changes}}
    return list(run_fresh(interpreter.WARM, request).measurements)


def points_of(lines: list[MeasurementLine]) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = gather_lines(lines)[0].to_json()["divergence"]["points"]
    return points


def test_errors_along_the_graph_and_in_the_output() -> None:
    found, cells = gather_lines(look("wrong_from_the_second_operation"))
    numbers = found.to_json()
    points = numbers["divergence"]["points"]
    assert [point["operator"] for point in points] == ["operator.add", "torch.cumsum", "torch.mul"]
    # the backend adds one to whatever is larger than five: not after the first operation, but from
    # the second on
    assert [bool(point["compiled"]) for point in points] == [False, True, True]
    assert [point["eager"] for point in points] == [0.0, 0.0, 0.0]
    assert {point["reference"] for point in points} == {"float64"}
    spread = numbers["error_map"]
    assert spread["shape"] == [6, 100] and spread["step"] == [1, 2] and spread["max"] == 1.0
    assert spread["off"] == 500 and "cells" not in spread
    assert [row[0] for row in cells] == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert {len(row) for row in cells} == {50}
    assert numbers["graph_breaks"] == [] and numbers["graphs"] == 1


def test_graph_breaks_are_lines_of_the_repro() -> None:
    lines = text("measurements/graph_break").splitlines()
    numbers = gather_lines(look("graph_break"))[0].to_json()
    line = lines.index("    torch._dynamo.graph_break()") + 1
    assert [found["line"] for found in numbers["graph_breaks"]] == [line]
    assert numbers["graphs"] == 2


def test_an_exception_of_the_compiler_is_placed() -> None:
    points = points_of(look("backend_refuses_cumsum"))
    assert [point.get("error") for point in points] == [None, "AssertionError", "AssertionError"]


def test_a_process_that_dies_leaves_what_it_had_measured() -> None:
    points = points_of(look("dies_at_the_end", values=False))
    assert points[-1]["error"] == "no end"  # the last operation is measured first


def test_what_is_nan_on_both_sides_is_not_off() -> None:
    eager = torch.tensor([1.0, math.nan, 2.0, math.nan, 3.0])
    compiled = eager.clone()
    compiled[4] = 3.5
    found = build_error_map([eager], [compiled], None)
    assert found is not None
    assert (found["off"], found["max"]) == (1, 0.5)
    compiled[0] = math.nan
    found = build_error_map([eager], [compiled], None)
    assert found is not None and (found["off"], found["max"]) == (2, None)

"""What is gathered from the lines of a process that may have died on its way."""

from __future__ import annotations

from reporter.core.kinds import Kind
from reporter.pipeline.test_and_pictures import choose_measurements, gather_lines


def test_lines_that_were_cut_off_are_no_trouble() -> None:
    nothing, cells = gather_lines([])
    assert (nothing.to_json(), cells) == ({}, [])
    graph = {"graph": 0, "nodes": [{"operator": None}], "outputs": [0]}
    begun = {"graph": 0, "position": 0, "begun": True}
    numbers, _ = gather_lines([{"graph": graph}, begun])
    points = numbers.to_json()["divergence"]["points"]
    assert points == [{"position": 0, "operator": None, "error": "no end"}]


def test_values_are_followed_along_the_graph_where_they_part_or_the_graph_raises() -> None:
    followed = {kind for kind in Kind if choose_measurements(kind, 1.0)["positions"]}
    assert {Kind.WRONG_RESULT, Kind.WRONG_GRADIENT, Kind.CRASH, Kind.PROCESS_DEATH} <= followed
    assert not {Kind.WRONG_METADATA, Kind.ACCEPTS_INVALID} & followed
    assert not choose_measurements(Kind.CRASH, 1.0)["values"]

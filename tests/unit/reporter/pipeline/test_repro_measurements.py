"""What is gathered from the lines of a process that may have died on its way."""

from __future__ import annotations

from reporter.pipeline.repro_measurements import gather_lines


def test_lines_that_were_cut_off_are_no_trouble() -> None:
    nothing, cells = gather_lines([])
    assert (nothing.to_json(), cells) == ({}, [])
    graph = {"graph": 0, "nodes": [{"operator": None}], "outputs": [0]}
    begun = {"graph": 0, "position": 0, "begun": True}
    numbers, _ = gather_lines([{"graph": graph}, begun])
    points = numbers.to_json()["divergence"]["points"]
    assert points == [{"position": 0, "operator": None, "error": "no end"}]

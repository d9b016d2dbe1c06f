"""What a run uses, by stages."""

from __future__ import annotations

from collections.abc import Iterator

from reporter.core.progress import PlainProgress
from reporter.execution.usage import Meter, MeteredProgress, StageUsage, render_usage
from reporter.report.sections.stages import StageRow


def _readings(*readings: StageUsage) -> Iterator[StageUsage]:
    yield from readings


def test_each_second_belongs_to_one_stage() -> None:
    readings = _readings(
        StageUsage(0, 0), StageUsage(2, 1), StageUsage(5, 7, 3, 2), StageUsage(6, 8, 3, 3)
    )
    progress = MeteredProgress(PlainProgress(), lambda: next(readings))
    progress.begin_stage("record")
    progress.begin_stage("diagnose")
    assert progress.collect_rows() == {
        "start": StageRow(wall=2, cpu=1, compilations=0, processes=0),
        "record": StageRow(wall=3, cpu=6, compilations=3, processes=2),
        "diagnose": StageRow(wall=1, cpu=1, compilations=0, processes=1),
    }


def test_a_stage_that_comes_again_goes_on_counting() -> None:
    readings = _readings(*(StageUsage(seconds) for seconds in (0, 1, 3, 6, 10)))
    progress = MeteredProgress(PlainProgress(), lambda: next(readings))
    for name in ("evidence", "reduce", "evidence"):
        progress.begin_stage(name)
    assert {name: row.wall for name, row in progress.collect_rows().items()} == {
        "start": 1,
        "evidence": 2 + 4,
        "reduce": 3,
    }


def test_a_meter_adds_what_others_say_to_what_the_system_counts() -> None:
    meter = Meter()
    before = meter.read()
    meter.add(cpu=2.5, compilations=3, processes=1)
    meter.add(cpu=-0.5)
    used = meter.read() - before
    assert (used.compilations, used.processes) == (3, 1)
    assert used.cpu >= 2.0  # and what this test itself has used


def test_the_table_ends_with_the_sum() -> None:
    rows = {
        "record": StageRow(wall=1.0, cpu=2.0, compilations=3, processes=4),
        "verify": StageRow(wall=10.0),  # of a report of version 1
    }
    first, *_, last = render_usage(rows)
    assert first.split() == ["stage", "wall", "cpu", "compiled", "processes"]
    assert last.split() == ["all", "11.0", "s", "2.0", "s", "3", "4"]

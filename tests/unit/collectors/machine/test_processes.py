"""Only what the processes of one group waited for a processor counts, as far as the system says."""

from __future__ import annotations

import os
from pathlib import Path

from collectors.machine.processes import measure_time_in_queue


def process(proc: Path, number: int, group: int, waited: int | None, name: str = "cc1plus") -> None:
    folder = proc / str(number)
    folder.mkdir()
    (folder / "stat").write_text(f"{number} ({name}) R 1 {group} {group} 0 -1 4194304 100 0\n")
    if waited is not None:
        (folder / "schedstat").write_text(f"5000000000 {waited} 42\n")


def test_the_processes_of_a_group_are_added_up(tmp_path: Path) -> None:
    process(tmp_path, 100, 100, 2_000_000_000)
    process(tmp_path, 101, 100, 500_000_000, name="a (strange) S name")
    process(tmp_path, 200, 200, 9_000_000_000)
    (tmp_path / "uptime").write_text("1 2\n")
    assert measure_time_in_queue(100, str(tmp_path)) == 2.5


def test_what_the_system_does_not_count_is_nothing(tmp_path: Path) -> None:
    process(tmp_path, 100, 100, None)
    assert measure_time_in_queue(100, str(tmp_path)) == 0
    assert measure_time_in_queue(100, str(tmp_path / "nowhere")) == 0


def test_a_real_system_is_understood() -> None:
    assert measure_time_in_queue(os.getpgid(0)) >= 0

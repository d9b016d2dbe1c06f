"""Where nothing can be forked the program is run again for each question, and still answers about
the recorded call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from collectors.protocol.variation import Rung
from reporter.recording import questions
from reporter.recording.findings import Recording
from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions
from tests.support import interpreter
from tests.support.scripts import text
from tests.support.waiting import PATIENCE, is_running, until

Record = Callable[..., Recording]


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Records a program of tests/data/scripts/rerun without a single fork of it, two runs at a
    time; then so many have room on its device.
    """
    made: list[Recording] = []

    def run(name: str, room: int | None = None) -> Recording:
        script = tmp_path / "script.py"
        script.write_text(text("rerun/wrong") + text(f"rerun/{name}"))
        cache = interpreter.session() / "inductor"
        program = WatchedProgram(interpreter.WARM, (str(script),), tmp_path, cache)
        session = RecordingSession(program, WatchOptions(PATIENCE, reruns=2, isolation="rerun"))
        made.append(session.run())
        assert session.runs is not None
        session.runs.room = room
        return made[-1]

    yield run
    for recording in made:
        recording.close()


def ask(recording: Recording, name: str, limit: float = PATIENCE, **rung: Any) -> dict[str, Any]:
    """One run of the first finding's call; its snapshot is NAME.pt."""
    rung["snapshot"] = str(recording.folder / f"{name}.pt")
    wanted = questions.run(cast(Rung, rung))
    return {**recording.findings[0].call_session.request(wanted, limit)}


def compare(recording: Recording, one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    question = questions.compare(one["snapshot"], two["snapshot"])
    compared = recording.findings[0].call_session.request(question, PATIENCE)
    return {**compared["comparison"]}


def test_a_program_that_draws_new_numbers_each_time_still_makes_the_recorded_call(
    record: Record,
) -> None:
    recording = record("new_numbers_each_time")
    assert [(f.call, f.symptom) for f in recording.findings] == [(0, "differs")]
    worst = recording.findings[0].comparison
    assert worst is not None and len(worst["values"]) == 1  # the buffers changed alike
    first, second = (ask(recording, name, how="eager") for name in ("a", "b"))
    assert first["outcome"] == second["outcome"] == "ok"
    assert compare(recording, first, second)["equal"]
    compiled = ask(recording, "c", how="compiled")
    assert not compare(recording, first, compiled)["same"]


def test_a_later_call_finds_the_weights_that_earlier_ones_have_changed(record: Record) -> None:
    recording = record("weights_change_before_a_later_call")
    finding = recording.findings[0]
    assert (finding.call, finding.symptom) == (1, "differs")
    eager, compiled = ask(recording, "e", how="eager"), ask(recording, "c", how="compiled")
    recorded = {"snapshot": finding.returned}
    assert compare(recording, compiled, recorded)["equal"]
    difference = compare(recording, eager, recorded)["values"][0]
    assert difference["max_abs_error"] == pytest.approx(1.0, abs=1e-5)


def test_a_death_and_an_exception_are_told_apart(record: Record) -> None:
    recording = record("dies")
    assert [f.symptom for f in recording.findings] == ["died"]
    assert recording.script.exit != 0
    again = ask(recording, "again", how="compiled")
    assert (again["outcome"], again["signal"]) == ("died", "SIGABRT")
    assert "about to go" in again["detail"]
    assert ask(recording, "eager", how="eager")["outcome"] == "ok"
    assert ask(recording, "unknown", how="compiled", backend="no-such")["outcome"] == "raises"


def test_a_time_limit_ends_the_run_and_shows_where_it_was(record: Record) -> None:
    """What is asked never ends by itself.

    Where the machine does not even get there in time, it is given more of it.
    """
    recording = record("ends_only_in_the_main_thread")
    for limit in (2, 8, 32, 128):
        answer = ask(recording, "slow", how="compiled", limit=limit)
        assert answer["outcome"] == "timeout"
        if "in slow" in answer["detail"]:
            break
    assert "in slow" in answer["detail"]


def test_a_program_that_makes_another_call_is_not_asked(record: Record) -> None:
    recording = record("another_call_each_time")
    assert not recording.findings and recording.counts.unchecked == 1


def test_why_a_program_did_not_make_the_call_again_is_told(record: Record) -> None:
    recording = record("stops_the_second_time")
    assert recording.counts.unchecked == 1
    assert recording.counts.obstacles == {
        "the program did not make the call again: ValueError: there is a lock"
    }


def test_a_process_group_of_one_is_made_again_beside_the_program_that_has_its_address(
    record: Record,
) -> None:
    recording = record("one_rank")
    assert [f.symptom for f in recording.findings] == ["differs"]
    assert ask(recording, "again", how="compiled")["outcome"] == "ok"


def test_tensors_are_made_on_the_device_that_the_program_has_chosen(record: Record) -> None:
    recording = record("default_device")
    assert not recording.findings and recording.counts.compared == 1


def test_gradients_that_flowed_into_the_call_are_given_to_its_repetitions(record: Record) -> None:
    recording = record("gradients")
    assert [f.symptom for f in recording.findings] == ["gradient"]


def test_where_memory_is_short_a_run_reads_what_it_has_made_itself(
    record: Record, tmp_path: Path
) -> None:
    """And what it made is put back: the call adds to a buffer."""
    recording = record("new_numbers_each_time", room=1)

    def runs() -> int:
        return len((tmp_path / "pids.txt").read_text().split())

    first = ask(recording, "a", how="eager")  # of a run that waited already
    before = runs()
    second = ask(recording, "b", how="eager")
    assert runs() - before == 1
    assert compare(recording, first, second)["equal"]
    assert runs() - before == 1


def test_nothing_runs_any_more_when_the_recording_is_closed(record: Record, tmp_path: Path) -> None:
    recording = record("one_call")
    assert ask(recording, "a", how="eager")["outcome"] == "ok"

    def running() -> list[int]:
        pids = [int(word) for word in (tmp_path / "pids.txt").read_text().split()]
        return [pid for pid in pids if is_running(pid)]

    until(running, "a run that waits for the next question")
    recording.close()
    until(lambda: not running(), "the end of all runs")
    assert ask(recording, "b", how="eager")["outcome"] == "died"

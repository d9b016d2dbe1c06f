"""The recorder leaves the script as it is and finds the failing call: real scripts in real
processes.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import Kind, Layer
from reporter.diagnose.diagnosis import Diagnosis, VerdictBasis
from reporter.pipeline.capture import capture_graphs
from reporter.recording import questions
from reporter.recording.call_session import ForkedCallSession, refuse_lost
from reporter.recording.entry_points import EntryPoint, refuse_run
from reporter.recording.findings import Recording
from tests.support import interpreter, scripts
from tests.support.watched import BESIDE, session, watch

Record = Callable[..., Recording]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Runs a script under the recorder as job/script.py, in the folder of the test."""

    def run(
        name: str,
        *args: str,
        files: dict[str, str] | None = None,
        module: str = "",
        python: Path | None = None,
    ) -> Recording:
        script = tmp_path / "job" / "script.py"
        script.parent.mkdir(exist_ok=True)
        shutil.copy(scripts.script(f"recording/{name}"), script)
        for path, content in (files or {}).items():
            (script.parent / path).parent.mkdir(parents=True, exist_ok=True)
            (script.parent / path).write_text(content, encoding="utf-8")
        command = [module or str(script), *args]
        folder = script.parent if module else tmp_path
        return session(command, folder, python=python, module=bool(module)).run()

    return run


def alone(folder: Path, *args: str, python: Path) -> subprocess.CompletedProcess[str]:
    """The recorded script run without the recorder."""
    script = folder / "job" / "script.py"
    return subprocess.run([python, script, *args], cwd=folder, capture_output=True, text=True)


def test_later_calls_of_a_program_with_state_are_compared_from_where_they_start(
    record: Record,
) -> None:
    recording = record("exported_with_state")
    try:
        assert recording.findings == [] and recording.script.exit == 0
        exports, comparable, after_the_module_was_called = 2, 7, 1
        assert recording.counts.calls == exports + comparable + after_the_module_was_called
        assert recording.counts.compared == exports + comparable
    finally:
        recording.close()


def test_a_call_whose_process_was_ended_is_not_captured_in_part(record: Record) -> None:
    recording = record("backward_is_doubled")
    (finding,) = recording.findings
    try:
        assert isinstance(finding.call_session, ForkedCallSession)
        assert finding.call_session.pid is not None
        refuse_lost(finding.call_session.request(questions.gather(), 60))
        os.kill(finding.call_session.pid, signal.SIGKILL)
        diagnosis = Diagnosis(Kind.WRONG_GRADIENT, Layer.INDUCTOR, "", basis=VerdictBasis(finding))
        with pytest.raises(CannotJudgeError, match="was ended while it was asked"):
            list(capture_graphs(diagnosis, 60))
    finally:
        recording.close()


def symptoms(recording: Recording) -> list[tuple[int, str]]:
    """What was found, by call; closes the recording."""
    found = [(finding.call, finding.symptom) for finding in recording.findings]
    recording.close()
    return found


def test_the_script_sees_what_it_always_sees(record: Record, tmp_path: Path) -> None:
    recording = record("what_a_script_sees", "--lr", "3", "-h", python=interpreter.COLD)
    done = alone(tmp_path, "--lr", "3", "-h", python=interpreter.COLD)
    assert recording.script.output == done.stdout
    assert recording.script.exit == done.returncode == 7
    assert symptoms(recording) == []


def test_a_loss_that_needs_one_of_two_outputs_is_differentiated_as_always(record: Record) -> None:
    recording = record("one_output_of_two_is_differentiated")
    assert recording.script.output == "[1.0, 1.0, 1.0]\n"
    assert recording.script.exit == 0
    assert symptoms(recording) == []


def test_an_exported_module_is_copied_compiled_and_rewritten_as_always(
    record: Record, tmp_path: Path
) -> None:
    recording = record("uses_exported_modules_further")
    assert recording.script.exit == 0
    printed = alone(tmp_path, python=interpreter.WARM).stdout
    assert [line for line in recording.script.output.splitlines() if line[:2] == "[["] == (
        printed.splitlines()
    )
    assert symptoms(recording) == []


def test_a_program_is_not_held_against_what_lay_in_a_buffer_that_is_gone(record: Record) -> None:
    recording = record("loads_from_a_buffer_that_is_gone")
    assert recording.script.output == "[2.0, 2.0]\nNone\n"
    assert symptoms(recording) == []


def test_a_gradient_inside_vmap_is_left_alone(record: Record) -> None:
    recording = record("vmap_around_backward")
    assert recording.script.output == "[2.0, 2.0, 2.0]\n"
    assert recording.script.exit == 0
    assert symptoms(recording) == []


def test_a_gradient_that_cannot_be_copied_is_left_alone(record: Record) -> None:
    recording = record("a_gradient_cannot_be_copied")
    assert recording.script.output == "[2.0, 2.0, 2.0]\n"
    assert symptoms(recording) == []


def test_a_call_that_checkpointing_stops_once_it_has_what_it_needs_did_not_fail(
    record: Record,
) -> None:
    recording = record("recomputed_by_a_checkpoint")
    assert recording.script.output == "True\n"
    assert symptoms(recording) == []
    assert recording.counts.compared > 0 and recording.counts.unchecked == 0


@pytest.mark.parametrize("module", ["", "script"])
def test_the_leak_check_hears_of_every_module_of_the_users(
    module: str, record: Record, tmp_path: Path
) -> None:
    files = {"own/__init__.py": "", "own/tools.py": "def scaled(x):\n    return x * 3\n"}
    recording = record("uses_own_package", files=files, module=module)
    answer = recording.findings[0].call_session.request(questions.collect_environment(), 600)
    recording.close()
    names = {str(Path(path).relative_to(tmp_path)) for path in answer["files"]}
    assert names == {"job/script.py", "job/own/__init__.py", "job/own/tools.py"}


def test_the_scripts_own_modules_win_over_ours(record: Record) -> None:
    names = ("reporter", "templates", "collectors", "anonymizer")
    files = {f"{name}.py": f"value = 'own {name}'\n" for name in names}
    recording = record("modules_of_our_names", files=files, python=interpreter.COLD)
    assert recording.script.output.splitlines() == [f"own {name}" for name in names]
    recording.close()


def test_a_module_runs_as_with_dash_m(record: Record) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/train.py": "import sys\nprint(__name__, __package__, sys.argv[1:])\n",
    }
    recording = record(
        "what_a_script_sees", "x", files=files, module="pkg.train", python=interpreter.COLD
    )
    assert recording.script.output.strip() == "__main__ pkg ['x']"
    recording.close()


@pytest.mark.parametrize(
    "way",
    [
        "function",
        "decorated",
        "module",
        "module_compiled_in_place",
        "by_dynamo_optimize",
        "by_the_context_of_a_module",
        "without_gradients",
        "and_swallowed",
    ],
)
def test_a_wrong_value_is_found_however_it_was_compiled(way: str, record: Record) -> None:
    assert symptoms(record(f"wrong_{way}")) == [(0, "differs")]


def test_a_crash_is_found_where_it_is_raised_even_if_the_script_catches_it(record: Record) -> None:
    recording = record("second_call_crashes_and_is_caught")
    assert recording.script.exit == 0 and "caught" in recording.script.output
    assert [f.failure["exception"] for f in recording.findings if f.failure] == ["ValueError"]
    assert symptoms(recording) == [(1, "raised")]


def test_a_call_that_fails_in_eager_too_is_no_finding(record: Record) -> None:
    assert symptoms(record("fails_in_eager_too")) == []


def test_the_wrong_call_of_several_shapes_is_named(record: Record) -> None:
    assert symptoms(record("third_shape_is_wrong")) == [(2, "differs")]


def test_gradients_that_flow_in_the_scripts_own_loss_are_compared(record: Record) -> None:
    assert symptoms(record("backward_is_doubled")) == [(0, "gradient")]


def test_random_state_and_mutated_arguments_are_the_scripts_own(
    record: Record, tmp_path: Path
) -> None:
    recording = record("random_numbers_and_mutated_state")
    assert recording.script.output == alone(tmp_path, python=interpreter.WARM).stdout != ""
    assert symptoms(recording) == []


def test_a_death_in_the_compiled_call_leaves_its_fork_server(record: Record) -> None:
    recording = record("dies")
    assert [f.signal for f in recording.findings] == ["SIGABRT"]
    answer = recording.findings[0].call_session.request(
        questions.run({"how": "eager", "snapshot": str(recording.folder / "again.pt")}), 600
    )
    assert answer["outcome"] == "ok"
    assert symptoms(recording) == [(0, "died")]


def test_no_process_outlives_a_recording(record: Record) -> None:
    recording = record("wrong_function")
    pids = [session.pid for session in recording.call_sessions]  # type: ignore[attr-defined]
    assert pids
    recording.close()
    deadline = time.monotonic() + 120
    while any(_lives(pid) for pid in pids):
        assert time.monotonic() < deadline, f"a fork server of {pids} lives on"
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "code"),
    [("prints_much", 0), ("prints_bytes", 0), ("waits_for_input", 1), ("forks", 0)],
)
def test_unusual_scripts_end_as_they_do_alone(name: str, code: int, record: Record) -> None:
    recording = record(name, python=interpreter.COLD)
    assert recording.script.exit == code
    assert symptoms(recording) == []


def test_a_script_that_ends_its_parent_does_not_end_the_tool(record: Record) -> None:
    recording = record("ends_its_parent", python=interpreter.COLD)
    assert (recording.script.parent_ended_by, recording.script.exit, recording.counts.calls) == (
        "SIGKILL",
        None,
        0,
    )
    with pytest.raises(CannotJudgeError, match="was ended.*SIGKILL"):
        refuse_run(EntryPoint("script", ("script.py",), Path()), recording)
    recording.close()


@pytest.mark.parametrize("name", ["closes_descriptors", "puts_a_file_in_place"])
def test_a_script_that_takes_the_recorders_descriptor_is_watched(name: str, record: Record) -> None:
    recording = record(name)
    assert recording.script.exit == 0, recording.script.output
    assert symptoms(recording) == [(0, "differs")]


def test_a_socket_is_seen_only_once_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for the file would be refused between its making and the first listening."""
    seen_before: list[list[str]] = []

    class WatchedCallable(socket.socket):
        def listen(self, backlog: int = 0) -> None:
            seen_before.append([path.name for path in made.recording.folder.iterdir()])
            super().listen(backlog)

    monkeypatch.setattr(socket, "socket", WatchedCallable)
    made = session(["-c", "pass"], tmp_path)
    with made.listen():
        assert (made.recording.folder / "s").is_socket()
        assert len(seen_before) == 1 and "s" not in seen_before[0]
    made.recording.close()


# -- limits, kept by a clock that the scripts hold -------------------------------------------------


def test_a_script_that_does_not_end_is_stopped_and_no_call_is_blamed(tmp_path: Path) -> None:
    recording = watch(scripts.text("verdicts/hang_after_the_call"), tmp_path)
    assert recording.script.stopped
    assert symptoms(recording) == []


def test_the_limit_starts_anew_with_each_sign_of_life(tmp_path: Path) -> None:
    recording = watch(scripts.text("recording/waits_before_it_compiles"), tmp_path)
    assert not recording.script.stopped
    assert symptoms(recording) == [(1, "differs")]


def test_a_call_that_does_not_end_is_found_by_the_sessions_clock(tmp_path: Path) -> None:
    recording = watch(scripts.text("verdicts/hang_compiling"), tmp_path)
    assert not recording.script.stopped
    assert symptoms(recording) == [(0, "hang")]


def test_what_the_scripts_own_call_took_is_measured_by_the_sessions_clock(tmp_path: Path) -> None:
    recording = watch(scripts.text("verdicts/slow_call_repeated_slower"), tmp_path)
    (finding,) = recording.findings
    assert finding.original.seconds >= 450
    assert symptoms(recording) == [(0, "raised")]


def test_a_repetition_that_takes_the_stopping_signal_for_itself_is_stopped_without_a_stack(
    tmp_path: Path,
) -> None:
    recording = watch(scripts.text("recording/takes_the_signal"), tmp_path)
    (finding,) = recording.findings
    answer = finding.call_session.request(
        questions.run({"how": "reused", "snapshot": str(recording.folder / "again.pt")}), 600
    )
    assert (answer["outcome"], answer["detail"]) == ("timeout", "")
    assert symptoms(recording) == [(0, "hang")]


def test_a_program_that_has_registered_the_stopping_signal_is_placed_all_the_same(
    tmp_path: Path,
) -> None:
    recording = watch(scripts.text("recording/has_registered_the_signal"), tmp_path)
    (finding,) = recording.findings
    answer = finding.call_session.request(
        questions.run({"how": "reused", "snapshot": str(recording.folder / "again.pt")}), 600
    )
    assert answer["outcome"] == "timeout" and "in stand_still" in answer["detail"]
    assert not (tmp_path / "job" / "stacks").read_text()
    assert symptoms(recording) == [(0, "hang")]


def test_the_held_clock_is_the_only_module_beside_the_scripts() -> None:
    assert [path.name for path in BESIDE.iterdir() if path.suffix == ".py"] == ["held_clock.py"]

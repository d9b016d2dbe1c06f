"""The recorder shows itself nowhere: what a program prints, warns of, waits for and returns is what
it is alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reporter.recording.findings import Recording
from tests.support import interpreter, scripts
from tests.support.programs import program
from tests.support.watched import session


def place(name: str, folder: Path) -> Path:
    """A program of its own in a folder."""
    script = folder / "job" / "script.py"
    script.parent.mkdir(exist_ok=True)
    shutil.copy(scripts.script(f"recording/{name}"), script)
    return script


def record(name: str, folder: Path, *args: str) -> Recording:
    """The program run under the recorder; it is closed."""
    recording = session([str(place(name, folder)), *args], folder).run()
    recording.close()
    return recording


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("compiles_what_is_compiled", None),
        ("exports_by_keyword", "[2.0, 2.0, 2.0]\n"),
        ("saves_outputs_under_strict_warnings", "None [1.0, 1.0, 1.0]\n"),
        ("counts_operators", None),
        ("copies_a_compiled_module", "[[0.0, 0.0]] True\n"),
        ("waits_for_its_children", "True\nno other\n"),
        ("warns_at_each_step", "1\n"),
        ("cond_with_a_mistake", "refused True\n"),
    ],
)
def test_a_program_sees_what_it_sees_alone(name: str, printed: str | None, tmp_path: Path) -> None:
    recording = record(name, tmp_path)
    command = [interpreter.WARM, tmp_path / "job" / "script.py"]
    alone = subprocess.run(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert recording.script.output == alone.stdout, recording.script
    assert (printed or "") in alone.stdout and recording.findings == []


@pytest.mark.parametrize(
    ("name", "printed"),
    [("waits_for_a_reader", "b'72\\n'\n"), ("reads_a_file_on", "[1.0, 2.0, 3.0]\n")],
)
def test_what_a_program_has_open_is_its_own(name: str, printed: str, tmp_path: Path) -> None:
    recording = record(name, tmp_path, str(tmp_path / "file"))
    assert (recording.script.output, recording.script.exit) == (printed, 0)
    assert recording.counts.compared == 3


@pytest.mark.parametrize(
    "name", ["wrong_in_a_thread_that_goes_on", "wrong_at_exit", "wrong_in_a_copied_module"]
)
def test_every_call_of_a_program_is_watched(name: str, tmp_path: Path) -> None:
    recording = record(name, tmp_path)
    found = [(finding.call, finding.symptom) for finding in recording.findings]
    assert found == [(0, "differs")], (recording.counts, recording.script)


def test_what_torch_compiles_by_itself_is_no_call_of_the_program(tmp_path: Path) -> None:
    assert record("cond_with_a_mistake", tmp_path).counts.calls == 0


def test_a_batch_of_another_shape_is_looked_at(tmp_path: Path) -> None:
    eight_and_a_power_of_two = 8
    recording = record("batches_of_other_shapes", tmp_path)
    assert recording.counts.calls == 11
    assert recording.counts.compared == eight_and_a_power_of_two + 1


def test_a_script_behind_a_link_is_where_python_has_it(tmp_path: Path) -> None:
    script = place("where_it_lies", tmp_path)
    link = tmp_path / "link" / "script.py"
    link.parent.mkdir()
    link.symlink_to(script)
    recording = session([os.path.join("link", "script.py")], tmp_path).run()
    recording.close()
    assert recording.script.output == f"{link} {link} {script.parent}\n"


def test_a_script_in_a_folder_named_torch_is_the_programs(tmp_path: Path) -> None:
    raised = record("raises_in_a_folder_named_torch", tmp_path).script.exception
    assert raised is not None and not raised["raised_in_torch"]


def test_a_program_that_may_ask_for_a_report_exports_as_always(tmp_path: Path) -> None:
    text = "import bugreport\n" + scripts.text("recording/exports_by_keyword")
    (tmp_path / "script.py").write_text(text)
    done = program(tmp_path, "script.py", python=interpreter.WARM)
    assert done.stdout == "[2.0, 2.0, 2.0]\n" * 2, done.stderr

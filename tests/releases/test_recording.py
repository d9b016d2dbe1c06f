"""What the recorder sees of a program on other releases of torch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.diagnose.judge import judge
from tests.support import scripts
from tests.support.entry_points import tool
from tests.support.watched import session


@pytest.mark.parametrize("release", ["v20", "v26", "v213", "v215"])
def test_gradients_of_a_later_call_are_compared_in_every_release(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    script = scripts.script("recording/later_gradient_is_wrong")
    recording = session([str(script)], tmp_path, python=release_python(release)).run()
    try:
        found = judge(recording, 300, lambda _: None)
    finally:
        recording.close()
    assert (found.kind, found.layer) == ("wrong_gradient", "aot_autograd"), found.summary


def test_a_program_whose_autograd_has_threads_is_run_again_for_each_question(
    release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """As on a machine with a GPU, for whose devices autograd makes threads."""
    (tmp_path / "train.py").write_text(
        scripts.text("recording/autograd_makes_threads")
        + scripts.text("recording/later_gradient_is_wrong")
    )
    command = tool(
        "diagnose", "--json", "--no-input", "--python", release_python("v215"), "train.py"
    )
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "the script is run again for each question" in ended.stderr
    verdict = json.loads(ended.stdout)["verdict"]
    assert (verdict["kind"], verdict["layer"]) == ("wrong_gradient", "aot_autograd"), verdict


@pytest.mark.parametrize("release", ["v20", "v215"])
def test_a_copy_of_a_compiled_module_has_its_own_weights(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    script = scripts.script("recording/copies_a_compiled_module")
    recording = session([str(script)], tmp_path, python=release_python(release)).run()
    recording.close()
    assert "[[0.0, 0.0]] True\n" in recording.script.output
    assert recording.counts.compared == 3 and recording.findings == []

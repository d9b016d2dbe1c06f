"""What the recorder sees of a program on other releases of torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.diagnose.judge import judge
from tests.support import scripts
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

"""Programs that ask for a verdict themselves, on other releases of torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.programs import program
from tests.support.scripts import text


@pytest.mark.parametrize("release", ["v20", "v26", "v215"])
def test_a_block_on_other_releases(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "tallies.py").write_text(text("entry_points/tallies"))
    (tmp_path / "train.py").write_text(text("hook/block"))
    done = program(tmp_path, "train.py", "diagnose", python=release_python(release))
    assert done.stdout == "it goes on 0 crash False\n[]\n", done.stderr

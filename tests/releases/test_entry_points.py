"""Every way to start a program, on other releases of torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.entry_points import found, run, tally_script, write
from tests.support.notebooks import notebook
from tests.support.scripts import text


@pytest.mark.parametrize("release", ["v20", "v26", "v215"])
def test_every_way_finds_the_bug_on_other_releases(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    python = release_python(release)
    write(
        tmp_path,
        ranks_py=text("entry_points/ranks") + tally_script(),
        job_py=text("entry_points/tallies"),
    )
    notebook(tmp_path / "tallies.ipynb", "%matplotlib inline", tally_script())
    for words in (
        ["torchrun", "--nproc-per-node", "1", "ranks.py"],
        ["job:fast_tally"],
        ["tallies.ipynb"],
    ):
        recording = run(tmp_path, *words, python=python)
        assert recording.counts.unchecked == 0, recording.script.output
        assert [row[0] for row in found(recording)] == ["raised"], words

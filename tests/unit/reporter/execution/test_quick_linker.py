"""Which linker gcc takes for the kernels of candidates."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reporter.execution.quick_linker import TOOLS_PATH, choose_quick_linker


def _make_linker(folder: Path) -> Path:
    folder.mkdir()
    linker = folder / "ld.gold"
    linker.write_text("#!/bin/sh\n")
    linker.chmod(0o755)
    return linker


def test_gcc_finds_the_quick_linker_under_the_usual_name(tmp_path: Path) -> None:
    linker = _make_linker(tmp_path / "bin")
    environment = {"PATH": str(linker.parent)}
    chosen = choose_quick_linker(environment, tmp_path / "linker")
    assert (Path(chosen[TOOLS_PATH]) / "ld").resolve() == linker
    # a worker that is started anew finds the link there
    assert choose_quick_linker(environment, tmp_path / "linker") == chosen


def test_a_machine_without_it_keeps_its_linker(tmp_path: Path) -> None:
    assert choose_quick_linker({"PATH": str(tmp_path)}, tmp_path / "linker") == {}


def test_tools_that_the_user_has_chosen_stay(tmp_path: Path) -> None:
    linker = _make_linker(tmp_path / "bin")
    environment = {"PATH": str(linker.parent), TOOLS_PATH: "/opt/tools"}
    assert choose_quick_linker(environment, tmp_path / "linker") == {}


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    linker = _make_linker(tmp_path / "bin")
    (tmp_path / "linker").write_text("in the way")
    assert choose_quick_linker({"PATH": str(linker.parent)}, tmp_path / "linker") == {}


@pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("ld.gold")), reason="there is no g++ with gold"
)
def test_gcc_itself_takes_it(tmp_path: Path) -> None:
    chosen = choose_quick_linker(os.environ, tmp_path / "linker")
    told = subprocess.run(
        ["g++", "-print-prog-name=ld"],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(told.stdout.strip()) == tmp_path / "linker" / "ld"

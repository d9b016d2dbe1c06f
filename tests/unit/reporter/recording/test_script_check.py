"""A script that cannot start is refused with one sentence and a way out."""

from __future__ import annotations

import sys
import zipapp
from pathlib import Path

import pytest

from reporter.core.settings import Options
from reporter.recording.script_check import check_script
from tests.support.refusals import refusal

PYTHON = Path(sys.executable)


SCRIPTS: list[tuple[bytes, str]] = [
    (b"x = (1,\ny = 2\n", "train.py, line 1 is not valid Python"),
    (b"def f():\nreturn 1\n", "train.py, line 2 is not valid Python"),
    (b"x = 1\x00", "is not valid Python"),
    (b"\x89PNG\xff\xfe", "is not valid Python"),
]


@pytest.mark.parametrize(("text", "message"), SCRIPTS)
def test_a_script_that_does_not_compile_is_refused(
    text: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_bytes(text)
    options = Options(script=Path("train.py"), cwd=tmp_path)
    assert message in refusal(lambda: check_script(options, PYTHON))


def test_a_zipapp_is_refused_as_one(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("print(1)\n")
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz", "/usr/bin/env python3")
    options = Options(script=Path("app.pyz"), cwd=tmp_path)
    assert "zipapps are not supported" in refusal(lambda: check_script(options, PYTHON))


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    def message(script: str) -> str:
        options = Options(script=Path(script), cwd=tmp_path)
        return refusal(lambda: check_script(options))

    assert message("gone.py").startswith("there is no file gone.py;")
    assert message(".").startswith(". is a directory;")
    assert "no script was given" in refusal(lambda: check_script(Options()))


def test_a_script_that_only_compiles_is_not_run_and_needs_no_ending(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("raise RuntimeError('run')\n'\\d'\n")
    check_script(Options(script=Path("train"), cwd=tmp_path), PYTHON)
    assert {path.name for path in tmp_path.iterdir()} == {"train"}


def test_a_module_is_found_without_being_imported(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    check_script(Options(module="mine.train", cwd=tmp_path), PYTHON)
    gone = Options(module="gone.train", cwd=tmp_path)
    assert "finds no module gone.train" in refusal(lambda: check_script(gone, PYTHON))

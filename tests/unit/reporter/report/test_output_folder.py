"""A folder that a report cannot be written to is refused with one sentence and a way out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reporter.core.settings import Options
from reporter.report import output_folder
from tests.support.refusals import refusal


def choose_output(options: Options) -> Path:
    """The folder of a run that writes nothing."""
    with output_folder.choose_output(options) as folder:
        return folder


def test_a_new_or_empty_folder_can_be_written_and_is_not_created(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    assert choose_output(Options(output=folder)) == folder
    assert list(tmp_path.iterdir()) == []
    assert choose_output(Options(output=tmp_path)) == tmp_path


def test_without_a_name_the_first_free_folder_which_no_other_run_gets(tmp_path: Path) -> None:
    options = Options(cwd=tmp_path)
    with output_folder.choose_output(options) as first:
        assert first == tmp_path / "bugreport-report"
        assert choose_output(options) == tmp_path / "bugreport-report-2"
        assert list(tmp_path.iterdir()) == [first]  # the other run has written nothing
        (first / "issue.md").write_text("x")
    assert choose_output(options) == tmp_path / "bugreport-report-2"
    assert "cannot be written" in refusal(lambda: choose_output(Options(cwd=tmp_path / "gone")))


def test_what_is_there_already_is_protected(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"schema_version": 1, "verdict": {}}')
    assert "earlier report" in refusal(lambda: choose_output(Options(output=tmp_path)))
    assert choose_output(Options(output=tmp_path, force=True)) == tmp_path
    (tmp_path / "report.json").rename(tmp_path / "thesis.tex")
    foreign = Options(output=tmp_path, force=True)
    assert "not a report" in refusal(lambda: choose_output(foreign))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is not a folder" in refusal(lambda: choose_output(Options(output=tmp_path / "file")))
    assert "cannot be written" in refusal(
        lambda: choose_output(Options(output=tmp_path / "file" / "report"))
    )


@pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="needs /proc, which not even root can write"
)
def test_a_folder_that_not_even_root_can_write_is_refused() -> None:
    options = Options(output=Path("/proc/self/report"))
    assert "cannot be written" in refusal(lambda: choose_output(options))


def test_only_a_folder_can_be_resumed(tmp_path: Path) -> None:
    assert choose_output(Options(resume=tmp_path)) == tmp_path
    gone = Options(resume=tmp_path / "gone")
    assert "to resume" in refusal(lambda: choose_output(gone))


def test_a_finished_report_is_not_resumed_minutes_before_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    assert choose_output(Options(resume=tmp_path)) == tmp_path
    (tmp_path / "report.json").write_text('{"schema_version": 1, "verdict": {}}')
    finished = Options(resume=tmp_path)
    assert "earlier report" in refusal(lambda: choose_output(finished))
    assert choose_output(Options(resume=tmp_path, force=True)) == tmp_path


def test_a_folder_that_the_store_cannot_hold_is_refused_before_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"  # as Python has a name that is not UTF-8
    for options in (Options(output=folder / "report"), Options(cwd=folder)):
        message = refusal(lambda chosen=options: choose_output(chosen))
        assert "has a name that is not UTF-8" in message and "-o DIR" in message

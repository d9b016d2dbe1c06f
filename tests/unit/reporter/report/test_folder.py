"""The report folder is there as a whole or not at all, and what is private is closed to others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from reporter.core.atomic import read_umask
from reporter.core.errors import UsageError
from reporter.report.folder import (
    check_output,
    find_private_folder,
    write_private,
    write_report,
)

FILES = {"report.json": '{"schema_version": 1, "verdict": {}}', "issue.md": "text"}


SECRET: dict[str, bytes | str] = {"mapping.json": "{}", "recording/args.bin": b"\x00\x01"}


def tree(path: Path) -> dict[str, bytes]:
    return {
        str(item.relative_to(path)): item.read_bytes()
        for item in sorted(path.rglob("*"))
        if item.is_file()
    }


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_writes_everything_with_its_modes(tmp_path: Path) -> None:
    output = write_report(tmp_path / "deep" / "report", FILES, SECRET)
    assert tree(output) == {
        "issue.md": b"text",
        "private/mapping.json": b"{}",
        "private/recording/args.bin": b"\x00\x01",
        "report.json": FILES["report.json"].encode(),
    }
    assert mode(output / "private") == mode(output / "private" / "recording") == 0o700
    assert (
        mode(output / "private" / "mapping.json")
        == mode(output / "private" / "recording" / "args.bin")
        == 0o600
    )
    assert mode(output / "issue.md") & 0o600 == 0o600
    assert [item.name for item in (tmp_path / "deep").iterdir()] == ["report"]


def test_private_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        output = write_report(tmp_path / "report", FILES, SECRET)
    finally:
        os.umask(before)
    assert mode(output / "private") == 0o700 and mode(output / "private" / "mapping.json") == 0o600


def test_fills_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    assert "issue.md" in tree(write_report(tmp_path / "report", FILES, {}))


def test_keeps_the_journal_of_a_run_that_was_cut_short(tmp_path: Path) -> None:
    private = tmp_path / "report" / "private"
    private.mkdir(parents=True)
    (private / "journal.jsonl").write_text("one")
    (private / "mapping.json").write_text("old")
    output = write_report(tmp_path / "report", FILES, SECRET)
    assert (output / "private" / "journal.jsonl").read_text() == "one"
    assert (output / "private" / "mapping.json").read_text() == "{}"
    assert mode(output / "private" / "journal.jsonl") == 0o600


@pytest.mark.parametrize("replace_it", [False, True])
def test_refuses_a_folder_that_is_not_a_report(tmp_path: Path, replace_it: bool) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not a report"):
        write_report(tmp_path, FILES, SECRET, replace=replace_it)
    assert tree(tmp_path) == {"notes.txt": b"mine"}


def test_replaces_an_earlier_report_only_when_asked(tmp_path: Path) -> None:
    output = write_report(tmp_path / "report", {**FILES, "old.txt": "old"}, {})
    with pytest.raises(UsageError, match="earlier report"):
        write_report(output, FILES, {})
    assert (output / "old.txt").exists()
    write_report(output, FILES, {}, replace=True)
    assert sorted(tree(output)) == ["issue.md", "report.json"]
    assert [item.name for item in tmp_path.iterdir()] == ["report"]


def test_an_earlier_report_is_whole_until_the_next_one_takes_its_place(tmp_path: Path) -> None:
    old = {"mapping.json": "old", "journal.jsonl": "old"}
    output = write_report(tmp_path / "report", FILES, old)
    before = tree(output)
    unfinished = find_private_folder(output)
    assert unfinished == output / "private" / "unfinished"
    unfinished.mkdir()
    write_private(unfinished / "journal.jsonl", "new")
    assert mode(unfinished / "journal.jsonl") == 0o600
    assert {**before, "private/unfinished/journal.jsonl": b"new"} == tree(output)
    write_report(output, FILES, {"recording.json": "new"}, replace=True)
    private = {path.name: path.read_text() for path in (output / "private").iterdir()}
    assert private == {"journal.jsonl": "new", "recording.json": "new"}


def test_refuses_a_file_and_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(UsageError, match="not a folder"):
            check_output(tmp_path / name)


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("exists", [False, True])
def test_nothing_is_left_when_writing_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: BaseException, exists: bool
) -> None:
    output = tmp_path / "report"
    if exists:
        write_report(output, {**FILES, "issue.md": "first"}, {})
    before = tree(tmp_path)
    written: list[Path] = []
    original = os.open

    def breaks(path: Path, flags: int, *more: int, **at: int) -> int:
        if flags & os.O_CREAT:
            if written:
                raise trouble
            written.append(path)
        return original(path, flags, *more, **at)

    monkeypatch.setattr(os, "open", breaks)
    expected = UsageError if isinstance(trouble, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_report(output, FILES, SECRET, replace=True)
    assert written and tree(tmp_path) == before


def test_the_old_report_survives_a_failing_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = write_report(tmp_path / "report", {**FILES, "issue.md": "first"}, {})
    original = os.rename

    def fails_for_the_new(source: Path, target: Path) -> None:
        if str(source).endswith(".partial"):
            raise OSError(5, "Input/output error")
        original(source, target)

    monkeypatch.setattr(os, "rename", fails_for_the_new)
    with pytest.raises(UsageError, match="Input/output error"):
        write_report(output, FILES, {}, replace=True)
    assert (output / "issue.md").read_text() == "first"


@pytest.mark.parametrize("moved", [1, 2])
def test_ctrl_c_between_the_renames_costs_no_report(
    moved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = write_report(tmp_path / "report", {**FILES, "issue.md": "first"}, {})
    original, done = os.rename, []

    def rename(source: Path, target: Path) -> None:
        original(source, target)
        done.append(source)
        if len(done) == moved:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        write_report(output, {**FILES, "issue.md": "second"}, {}, replace=True)
    assert (output / "issue.md").read_text() == ("first" if moved == 1 else "second")
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "private/x", "a\\b"])
def test_names_stay_inside(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError):
        write_report(tmp_path / "report", {name: "x"}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_called_private_above_the_report_hides_nothing_of_it(tmp_path: Path) -> None:
    written = write_report(tmp_path / "private" / "r", {"repro.py": "x"}, {"log": "y"})
    assert stat.S_IMODE((written / "repro.py").stat().st_mode) == 0o644 & ~read_umask()
    assert stat.S_IMODE((written / "private" / "log").stat().st_mode) == 0o600


def test_a_private_file_is_replaced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "issue.sha256", tmp_path / "other"
    other.write_text("other")
    path.symlink_to(other)
    write_private(path, "old")
    assert other.read_text() == "other" and not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def break_off(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", break_off)
    with pytest.raises(KeyboardInterrupt):
        write_private(path, "new")
    assert path.read_text() == "old" and sorted(tmp_path.iterdir()) == [path, other]

"""A file is there as a whole or not at all, whatever stands in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reporter.core.atomic import write_atomically


def test_a_file_keeps_its_permissions_and_leaves_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_atomically(path, "a")
    assert path.stat().st_mode & 0o777 == 0o666 & ~(mask := os.umask(0o022)) and os.umask(mask)
    path.chmod(0o640)
    write_atomically(path, "b")
    assert path.read_text() == "b" and path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]


def test_what_is_no_ordinary_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_atomically(Path("/dev/null"), "nothing")
    assert Path("/dev/null").is_char_device()
    target = tmp_path / "there" / "page.html"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "page.html"
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink() and target.read_text() == "new"


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1

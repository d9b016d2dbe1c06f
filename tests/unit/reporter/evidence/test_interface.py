"""The files that torch's tools leave are kept up to a size."""

from __future__ import annotations

from pathlib import Path

from reporter.evidence.interface import trim


def test_files_are_kept_up_to_a_size(tmp_path: Path) -> None:
    for name, size in (("small", 10), ("large", 5000)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert trim(tmp_path, 1000) == ("large (5000 bytes)",)
    assert [path.name for path in tmp_path.iterdir()] == ["small"]

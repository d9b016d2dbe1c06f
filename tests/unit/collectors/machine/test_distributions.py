"""What an installer put in a folder is not the user's own, whatever the folder is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.machine.distributions import is_installed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of `pip install --target` on the path, with a module of the user's own in it."""
    for name in ("bought", "bought/core", "bought-1.0.dist-info"):
        (tmp_path / name).mkdir()
    for name in ("bought/core/a.py", "single.py", "own.py"):
        (tmp_path / name).touch()
    recorded = 'bought/core/a.py,sha256=x,1\n"single.py",,\nbought-1.0.dist-info/RECORD,,\n'
    (tmp_path / "bought-1.0.dist-info" / "RECORD").write_text(recorded)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path.resolve()


@pytest.mark.parametrize("name, installed", [
    ("bought/core/a.py", True), ("single.py", True), ("own.py", False), ("bought/core/b.py", False),
])  # fmt: skip
def test_a_folder_of_packages(folder: Path, name: str, installed: bool) -> None:
    assert is_installed(str(folder / name)) == installed


def test_a_record_that_cannot_be_read_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken-1.0.dist-info").mkdir()
    (tmp_path / "broken-1.0.dist-info" / "RECORD").write_bytes(b"\xff\xfe,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not is_installed(str(tmp_path / "a.py"))


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_an_interpreters_own_packages(name: str) -> None:
    assert is_installed(f"/usr/lib/python3/{name}/torch/__init__.py")

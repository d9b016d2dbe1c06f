"""What lies in the cache."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from reporter.environments import environments as cache
from reporter.environments.environments import Environments
from reporter.environments.release import Release


def _make_environment(root: Path, release: Release, used: float) -> Path:
    """A whole environment that was used `used` seconds ago."""
    folder = root / release.folder_name
    (folder / "env").mkdir(parents=True)
    place = {"torch": release.label, "version": "3.11", "python": "env/bin/python", "git": None}
    marker = {"release": asdict(release), "place": place, "files": {}}
    (folder / "made.json").write_text(json.dumps(marker))
    os.utime(folder / "made.json", (time.time() - used,) * 2)
    return folder


def test_only_folders_are_environments(tmp_path: Path) -> None:
    """Python 3.10 finds files under the pattern `*/` too, such as the locks of environments."""
    for name in ("2.6.0-default", "uv-cache", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "2.6.0-default.lock").touch()
    environments = Environments(tmp_path)
    assert [item.name for item in environments.list_all()] == ["2.6.0-default"]
    assert [item.name for item in environments.prune(None)] == ["2.6.0-default"]
    assert environments.list_all() == []
    assert Environments(tmp_path / "none").list_all() == []


def test_an_environment_is_listed_without_the_login_of_its_index(tmp_path: Path) -> None:
    release = Release("2.6.0", version="2.6.0", index="https://me:secret@example.org/simple")
    _make_environment(tmp_path, release, used=0)
    (found,) = Environments(tmp_path).list_all()
    assert found.is_whole and found.release == release
    assert found.to_json()["release"]["index"] == "https://example.org/simple"


@pytest.mark.parametrize("name", ["thesis", "env-default", "run-0123abcd"])
def test_folders_of_others_stay(name: str, tmp_path: Path) -> None:
    """`BUGREPORT_RELEASES` may name a folder that holds more than environments."""
    text = tmp_path / name / "chapter.tex"
    text.parent.mkdir()
    text.write_text("years of work")
    assert Environments(tmp_path).list_all() == []
    assert Environments(tmp_path).prune(None) == [] and text.exists()


def test_what_is_made_or_used_while_prune_measures_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each environment takes a second to measure, and other commands do not wait for that."""
    made, used = Release("2.6.0", version="2.6.0"), Release("2.7.0", version="2.7.0")
    (tmp_path / made.folder_name / "env").mkdir(parents=True)
    marker = _make_environment(tmp_path, used, used=7200) / "made.json"
    count = cache._count_bytes

    def go_on(folder: Path) -> int:
        if not (tmp_path / made.folder_name / "made.json").exists():
            (tmp_path / made.folder_name / "env").rmdir()
            _make_environment(tmp_path, made, used=0)
        os.utime(marker)
        return count(folder)

    environments = Environments(tmp_path)
    monkeypatch.setattr(cache, "_count_bytes", go_on)
    assert environments.prune(None) == []
    assert {item.name for item in environments.list_all()} == {made.folder_name, used.folder_name}

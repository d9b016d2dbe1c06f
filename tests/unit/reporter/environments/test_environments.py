"""What lies in the cache."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from reporter.environments.environments import Environments
from reporter.environments.release import Release


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
    folder = tmp_path / release.folder_name
    folder.mkdir()
    place = {"torch": "2.6.0", "version": "3.11", "python": "env/bin/python", "git": None}
    marker = {"release": asdict(release), "place": place, "files": {}}
    (folder / "made.json").write_text(json.dumps(marker))
    (found,) = Environments(tmp_path).list_all()
    assert found.is_whole and found.release == release
    assert found.to_json()["release"]["index"] == "https://example.org/simple"

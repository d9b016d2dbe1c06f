"""What lies in the cache."""

from __future__ import annotations

import json
import os
import sys
import time
import venv
from dataclasses import asdict
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.environments import environments as cache
from reporter.environments import index
from reporter.environments.environments import Environments
from reporter.environments.install import Installer
from reporter.environments.release import Release, build_interpreter_release, identify, parse
from tests.support.checking import make_interpreter, make_uv


def _make_environment(root: Path, release: Release, used: float) -> Path:
    """A whole environment that was used `used` seconds ago."""
    folder = root / release.folder_name
    (folder / "env").mkdir(parents=True)
    place = {"torch": release.label, "version": "3.11", "python": "env/bin/python", "git": None}
    marker = {"release": asdict(release), "place": place, "files": {}}
    (folder / "made.json").write_text(json.dumps(marker))
    os.utime(folder / "made.json", (time.time() - used,) * 2)
    return folder


def _make_own_interpreter(cache: Path, torch: str) -> Path:
    """An interpreter of an environment of the tool's own, with a stand-in for torch."""
    folder = cache / "2.6.0-default" / "env"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    make_torch(packages, torch)
    return folder / "bin" / "python"


def make_torch(folder: Path, version: str) -> None:
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(f"__version__ = {version!r}\n")


def test_no_pythonpath_decides_which_torch_an_environment_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_RELEASES", str(tmp_path / "cache"))
    own = build_interpreter_release(_make_own_interpreter(tmp_path / "cache", "2.6.0"))
    make_torch(tmp_path / "other", "2.7.0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    assert Environments(tmp_path / "cache").provide(own).torch == "2.6.0"
    assert "2.6.0" in identify(own) and "2.7.0" not in identify(own)
    # an interpreter of the user's runs with the packages that the user has chosen
    usual = build_interpreter_release(Path(sys.executable))
    assert Environments(tmp_path / "cache").provide(usual).torch == "2.7.0"


def test_a_marker_with_the_login_of_an_index_is_for_its_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "fetch_offers", lambda place=None: ())
    monkeypatch.setattr(index, "fetch_yanked_offers", lambda place=None: ())
    make_interpreter(tmp_path / "python", "2.6.0")
    install = f"""
[ $1 = venv ] || exit 0
for folder; do :; done
mkdir -p $folder/bin && cp {tmp_path / "python"} $folder/bin && touch $folder/pyvenv.cfg"""
    environments = Environments(tmp_path / "cache", installer=make_uv(tmp_path, install))
    release = Release("2.6.0", version="2.6.0", index="https://me:secret@example.org/simple")
    environments.provide(release)
    (marker,) = (tmp_path / "cache").glob("*/made.json")
    assert "secret" in marker.read_text() and marker.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("offered", "uv", "says"),
    [
        (((3, 14), (3, 15)), True, "its wheels are for Python 3.14, 3.15, in which it cannot comp"),
        (((3, 5),), False, "it needs Python 3.5, and there is none here"),
    ],
)
def test_the_python_that_a_release_lacks_is_named(
    offered: tuple[tuple[int, int], ...],
    uv: bool,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offer = index.Offer("2.6.0", offered, index.PYPI)
    monkeypatch.setattr(index, "fetch_offers", lambda place=None: (offer,))
    installer = make_uv(tmp_path, "") if uv else Installer(None, tmp_path)
    with pytest.raises(CannotJudgeError, match=says):
        Environments(tmp_path / "cache", installer=installer).provide(parse("2.6.0"))


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

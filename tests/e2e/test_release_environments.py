"""Environments are made once, shared, noticed when they are broken, and never half there."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.environments import index
from reporter.environments.environments import IN_USE, Environments
from reporter.environments.install import Installer, find_uv
from reporter.environments.release import Release, parse
from tests.support import indexes
from tests.support.checking import start
from tests.support.created import bugreport
from tests.support.waiting import PATIENCE
from tests.support.wheels import COMMIT, make_wheels, no_shims


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two wheels, and installers that know nothing else."""
    no_shims(monkeypatch)
    wheels = make_wheels(tmp_path / "wheels", "2.98.0", "2.99.0")
    for name, value in {
        "UV_FIND_LINKS": str(tmp_path / "wheels"),
        "UV_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,  # a machine may hold torch to one release
        "BUGREPORT_RELEASES": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    return wheels


def environments(tmp_path: Path, uv: bool = True) -> tuple[Environments, list[str]]:
    said: list[str] = []
    root = tmp_path / "cache"
    installer = Installer(find_uv() if uv else None, root / "uv-cache")
    return Environments(root, said.append, installer), said


SLOWLY = pytest.param(False, marks=pytest.mark.slow, id="venv and pip")


@pytest.mark.parametrize("uv", [pytest.param(True, id="uv"), SLOWLY])
def test_made_once_and_made_anew_when_broken(
    uv: bool, wheels: dict[str, Path], tmp_path: Path
) -> None:
    home, said = environments(tmp_path, uv)
    release = parse(str(wheels["2.99.0"]))
    place = home.provide(release)
    assert (place.torch, place.git, place.label) == ("2.99.0", COMMIT, "2.99.0")
    assert said == ["installing torch 2.99.0"]
    again, said = environments(tmp_path, uv)
    assert again.provide(release) == place and said == []
    next((tmp_path / "cache").glob("*/env/lib/*/site-packages/torch/version.py")).unlink()
    broken, said = environments(tmp_path, uv)
    assert not broken.list_all()[0].is_whole
    assert broken.provide(release) == place
    assert [line.split()[0] for line in said] == ["the", "installing"]


def test_damage_that_no_file_size_shows_is_found_by_looking_closely(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    home, said = environments(tmp_path)
    release = parse(str(wheels["2.99.0"]))
    place = home.provide(release)
    module = next((tmp_path / "cache").glob("*/env/lib/*/site-packages/torch/__init__.py"))
    text = module.read_text()
    module.unlink()  # a hard link: what is written must not reach the package cache
    module.write_text("raise ImportError('libtorch_cpu.so: cannot open shared object file')\n")
    assert home.provide(release) == place  # nobody has looked
    assert home.provide(release, again=True) == place
    assert "made anew" in said[1]
    module = next((tmp_path / "cache").glob("*/env/lib/*/site-packages/torch/__init__.py"))
    assert module.read_text() == text


def test_a_killed_installation_is_begun_anew(wheels: dict[str, Path], tmp_path: Path) -> None:
    home, said = environments(tmp_path)
    release = parse(str(wheels["2.99.0"]))
    half = tmp_path / "cache" / release.folder_name / "env" / "bin"
    half.mkdir(parents=True)
    (half / "python").symlink_to(sys.executable)
    assert home.provide(release).torch == "2.99.0"
    assert "unfinished" in said[0]


def test_commands_at_the_same_time_share_the_work(wheels: dict[str, Path], tmp_path: Path) -> None:
    words: list[str | Path] = ["install", tmp_path / "cache", wheels["2.99.0"]]
    started = [start(words, tmp_path / "store") for _ in range(3)]
    made = [int(process.communicate(timeout=PATIENCE)[0]) for process in started]
    assert sorted(made) == [0, 0, 1]


def test_prune_removes_the_longest_unused_and_leaves_what_may_be_in_use(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    home, _ = environments(tmp_path)
    old, new = (parse(str(wheels[version])) for version in ("2.98.0", "2.99.0"))
    home.provide(old)
    home.provide(new)
    assert [item.release.label for item in home.list_all()] == ["2.98.0", "2.99.0"]
    assert home.prune(None) == []  # both may be in use
    for release, age in ((old, 3), (new, 2)):
        marker = tmp_path / "cache" / release.folder_name / "made.json"
        then = time.time() - age * IN_USE
        os.utime(marker, (then, then))
    assert home.prune(home.measure_size()) == []
    sizes = {item.release.label: item.size for item in home.list_all()}
    assert min(sizes.values()) > 0
    gone = home.prune(home.measure_size() - 1)
    assert [item.release.label for item in gone] == ["2.98.0"]
    assert [item.release.label for item in home.list_all()] == ["2.99.0"]
    assert environments(tmp_path)[0].provide(new).torch == "2.99.0"  # its files are its own
    (tmp_path / "cache" / "2.97.0-default").mkdir()  # a killed installation
    assert [item.name for item in home.prune(10**12)] == ["2.97.0-default"]


def test_a_cache_that_cannot_be_written_can_be_used(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    home, _ = environments(tmp_path)
    place = home.provide(parse(str(wheels["2.98.0"])))
    # root ignores permission bits, so the folder is replaced by a view in which nothing can be made
    (tmp_path / "locked").write_text("a file where a folder is wanted")
    other = Environments(tmp_path / "locked", lambda _: None, home.installer)
    with pytest.raises(CannotJudgeError, match="cannot be used"):
        other.provide(parse(str(wheels["2.99.0"])))
    assert home.provide(parse(str(wheels["2.98.0"]))) == place


def test_what_no_index_has_cannot_be_judged(
    wheels: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")  # nobody listens there
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    index.fetch_offers.cache_clear()
    home, _ = environments(tmp_path)
    release = Release("2.55.0", version="2.55.0", backend="cpu")
    with pytest.raises(
        CannotJudgeError, match=r"torch 2\.55\.0 cannot be installed: .*(index|wheel)"
    ):
        home.provide(release)
    assert not (tmp_path / "cache" / release.folder_name).exists()


FAULTS: dict[indexes.Fault, str] = {
    "stalls": "does not answer",
    "stalls in a file": "does not answer",
    "breaks off": "not the whole wheel",
    "other bytes": "not the whole wheel",
    "other version": "a wheel of something else|no wheel of it fits this machine",
}


@pytest.mark.parametrize("uv", [pytest.param(True, id="uv"), SLOWLY])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("stalls", marks=pytest.mark.slow),
        *(name for name in FAULTS if name != "stalls"),
    ],
)
def test_an_index_that_misbehaves_leaves_no_environment(
    fault: indexes.Fault, uv: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command has its environment once the index is well again."""
    no_shims(monkeypatch)
    make_wheels(tmp_path / "wheels", "2.98.0", "2.99.0")
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    for name, value in {
        "UV_HTTP_TIMEOUT": "3",
        "UV_HTTP_RETRIES": "0",
        "PIP_DEFAULT_TIMEOUT": "3",
        "PIP_RETRIES": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    release = Release("2.99.0", version="2.99.0")
    for kind in (fault, "none"):
        home, _ = environments(tmp_path, uv)
        with indexes.serve(tmp_path / "wheels", kind) as address:
            monkeypatch.setenv("UV_DEFAULT_INDEX", address)
            monkeypatch.setenv("PIP_INDEX_URL", address)
            index.fetch_offers.cache_clear()
            if kind == "none":
                assert home.provide(release).torch == "2.99.0"
            else:
                with pytest.raises(CannotJudgeError, match=FAULTS[fault]):
                    home.provide(release)
                assert not (tmp_path / "cache" / release.folder_name).exists()


def test_the_command_lists_adds_and_prunes(wheels: dict[str, Path], tmp_path: Path) -> None:
    assert "no environment" in bugreport("releases", cwd=tmp_path).stdout
    added = bugreport("releases", "add", wheels["2.99.0"], cwd=tmp_path)
    assert added.returncode == 0 and "torch 2.99.0 on Python" in added.stdout, added.stderr
    assert "torch 2.99.0" in bugreport("releases", cwd=tmp_path).stdout
    pruned = bugreport("releases", "prune", "--keep", "1", cwd=tmp_path)
    assert pruned.returncode == 0 and "0.0 GiB freed" in pruned.stdout
    for words in (["prune", "2.6.0"], ["add"], ["fetch"], ["add", "no-such.whl"]):
        refused = bugreport("releases", *words, cwd=tmp_path)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr

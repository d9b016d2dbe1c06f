"""An environment is finished when its marker says so, and not before: whatever lacks a marker, or
differs from it, is made anew.

Environments lie side by side in one folder of the user's cache, one per release and build, with
uv's package cache next to them, so that files are hard links and most of a second environment costs
nothing. A lock per environment lets commands that run at the same time share the work; the one who
gets the lock second finds it done.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from reporter.core.atomic import replace_file
from reporter.core.errors import CannotJudgeError, InstallerEndedError, UsageError
from reporter.core.json_values import Json
from reporter.core.tokens import remove_logins
from reporter.environments import index, pythons
from reporter.environments.cache_folder import RELEASES_VARIABLE, choose_variables
from reporter.environments.install import Installer, find_uv
from reporter.environments.release import Release, strip_local_part
from reporter.execution.interpreter import probe

_MARKER = "made.json"
_CONTENT = "env"
#: What `Release.folder_name` ends in.
_OWN_NAME = re.compile(r".+-(?:[0-9a-f]{8}|default)")
_UV_CACHE = "uv-cache"
#: An environment used within this many seconds may be in use.
IN_USE = 3600.0
_LOCK_LIMIT = 4 * 3600.0


@dataclass(frozen=True)
class Environment:
    """An interpreter in which a release can be tried.

    `git` is the commit that its torch was built from.
    """

    label: str
    python: Path
    torch: str
    version: str
    git: str | None


@dataclass(frozen=True)
class CachedEnvironment:
    """An environment of the cache: `size` is in bytes, of which files that are links of the package
    cache stay there; `used` is in seconds since 1970.
    """

    name: str
    path: Path
    release: Release
    torch: str
    python: str
    size: int
    used: float
    is_whole: bool

    def to_json(self) -> Json:
        """A JSON-able dictionary, without the logins of an index."""
        release = {
            name: value and remove_logins(value) for name, value in asdict(self.release).items()
        }
        return {**asdict(self), "path": str(self.path), "release": release}


@dataclass
class Environments:
    """The environments of one cache folder.

    `say` is told what takes long; without an `installer` it is the one that is at hand.
    """

    root: Path
    say: Callable[[str], None] = lambda _: None
    installer: Installer | None = None
    #: What has been found already, which is not looked for again.
    known: dict[Release, Environment] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._installer = self.installer or Installer(find_uv(), self.root / _UV_CACHE)

    def stop(self) -> None:
        """End what is being made, for threads that wait for it; nothing is made any more."""
        self._installer.stop()

    def provide(self, release: Release, again: bool = False) -> Environment:
        """The interpreter for `release`, made if need be; `again` looks closely at what seemed to
        be fine.

        Raises:
            CannotJudgeError: there is none to be had; the sentence is the reason.
        """
        if release.problem is not None:
            raise CannotJudgeError(release.problem)
        if again:
            self.known.pop(release, None)
        if release not in self.known:
            found = self._probe_at_hand(release) if release.python else self._find(release, again)
            self.known[release] = found
        if not release.python:
            _touch(self.root / release.folder_name / _MARKER)
        return self.known[release]

    def _probe_at_hand(self, release: Release) -> Environment:
        assert release.python is not None
        try:
            return _probe(release, Path(release.python))
        except UsageError as error:
            raise CannotJudgeError(str(error).split(";")[0]) from None

    def _find(self, release: Release, closely: bool) -> Environment:
        folder = self.root / release.folder_name
        found = _read(release, folder)
        if found is not None and not closely:
            return found
        with self._lock(release.folder_name):
            found = _read(release, folder)  # somebody else may have made it meanwhile
            if found is not None and (not closely or _works(found)):
                return found
            if folder.exists():
                self.say(
                    f"the environment of torch {release.label} is broken or unfinished; it is made"
                    " anew"
                )
            return self._make(release, folder)

    def _make(self, release: Release, folder: Path) -> Environment:
        self.say(f"installing torch {release.label}")
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            python = self._fill(release, folder / _CONTENT)
            environment = _probe(release, python)
        except (OSError, UsageError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise CannotJudgeError(_render_failure(release, _read_reason(error))) from None
        except CannotJudgeError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise CannotJudgeError(_render_failure(release, str(error))) from None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if release.version and strip_local_part(environment.torch) != strip_local_part(
            release.version
        ):
            shutil.rmtree(folder, ignore_errors=True)
            raise CannotJudgeError(
                _render_failure(release, f"the index gave torch {environment.torch} instead")
            )
        _write(folder / _MARKER, release, environment, folder)
        return environment

    def _fill(self, release: Release, env: Path) -> Path:
        """Create the environment and install into it; the path of its interpreter."""
        installer = self._installer
        offered = self._find_pythons(release)
        wanted = index.select_pythons(strip_local_part(release.label), offered)
        if not wanted:
            raise CannotJudgeError(
                f"its wheels are for Python {_list_versions(offered)}, in which it cannot compile"
            )
        base = pythons.choose(wanted, installer.uv)
        if base is None:
            raise CannotJudgeError(
                f"it needs Python {_list_versions(wanted)}, and there is none here"
            )
        installer.create(base, env)
        python = env / "bin" / "python"
        installer.install(python, release)
        return python

    def _find_pythons(self, release: Release) -> tuple[tuple[int, int], ...]:
        """The Pythons for which the index, or the wheel itself, has a build."""
        if release.wheel is not None:
            return index.list_wheel_pythons(release.wheel)
        assert release.version is not None
        version = strip_local_part(release.version)
        for fetch in (index.fetch_offers, index.fetch_yanked_offers):
            try:
                listed = fetch(release.index)
            except CannotJudgeError:
                return ()  # offline, or an index without a listing: the installer will say
            for offer in listed:
                if strip_local_part(offer.version) == version:
                    return offer.pythons
        if release.index is None:
            raise CannotJudgeError("the index has no wheel of it for this machine")
        return ()

    @contextlib.contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        lock = FileLock(self.root / f"{name}.lock")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._acquire(lock, name)
        except (OSError, Timeout) as error:
            raise CannotJudgeError(
                f"the cache folder {self.root} cannot be used ({_read_reason(error)}); set"
                f" {RELEASES_VARIABLE} to another folder"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _acquire(self, lock: FileLock, name: str) -> None:
        """Waits for a lock until it has it.

        Raises:
            InstallerEndedError: this was stopped meanwhile.
            Timeout: somebody else has had it for hours.
        """
        end, is_said = time.monotonic() + _LOCK_LIMIT, False
        while not self._installer.is_stopped:
            try:
                lock.acquire(timeout=1)
                return
            except Timeout:
                if time.monotonic() > end:
                    raise
            if not is_said:
                self.say(f"waiting for another command that works on {name}")
                is_said = True
        raise InstallerEndedError("its installation was stopped")

    def list_all(self) -> list[CachedEnvironment]:
        """Every environment in the cache, the longest unused first; the folder may hold what is
        somebody else's.
        """
        found = [_describe(folder) for folder in sorted(self.root.glob("*")) if _is_own(folder)]
        return sorted(found, key=lambda item: item.used)

    def measure_size(self) -> int:
        """Bytes of the whole folder on disk; a file with several links counts once."""
        return _count_bytes(self.root)

    def prune(self, cap: int | None) -> list[CachedEnvironment]:
        """Remove the longest unused environments until the folder is no larger than `cap` bytes
        (None: all of them), and what is left of unfinished ones.

        What is locked, or was used within the last hour, stays. What no environment needs goes from
        the package cache.
        """
        gone = []
        for item in self.list_all():
            if cap is not None and item.is_whole and self.measure_size() <= cap:
                break
            if self._remove(item):
                gone.append(item)
                if cap is not None and self.measure_size() > cap:
                    self._forget_packages()
        if cap is None or self.measure_size() > cap:
            self._forget_packages()
        return gone

    def _remove(self, item: CachedEnvironment) -> bool:
        lock = FileLock(self.root / f"{item.name}.lock")
        try:
            with lock.acquire(timeout=0):
                if _may_be_in_use(item.path):  # measuring took a while, and nobody was locked out
                    return False
                (item.path / _MARKER).unlink(missing_ok=True)  # from here on it is unfinished
                shutil.rmtree(item.path, ignore_errors=True)
        except (Timeout, OSError):
            return False
        return not item.path.exists()

    def _forget_packages(self) -> None:
        """Environments keep their files, which are links; only the next installation downloads
        again.
        """
        shutil.rmtree(self.root / _UV_CACHE, ignore_errors=True)


def _list_versions(found: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{major}.{minor}" for major, minor in found)


def _probe(release: Release, python: Path) -> Environment:
    facts = probe(python, choose_variables(python))
    return Environment(
        label=release.label,
        python=python,
        torch=facts.torch,
        version=facts.version,
        git=facts.torch_git,
    )


def _works(environment: Environment) -> bool:
    try:
        return (
            probe(environment.python, choose_variables(environment.python)).torch
            == environment.torch
        )
    except UsageError:
        return False


def _read(release: Release, folder: Path) -> Environment | None:
    """What the marker says, if the files it vouches for are still what they were."""
    try:
        data = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        if any(os.stat(folder / name).st_size != size for name, size in data["files"].items()):
            return None
        place = data["place"]
        python = folder / place["python"]
        return Environment(release.label, python, place["torch"], place["version"], place["git"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(marker: Path, release: Release, environment: Environment, folder: Path) -> None:
    """The marker comes last and as a whole."""
    watched = ["env/bin/python", "env/pyvenv.cfg"]
    watched += [
        str(path.relative_to(folder))
        for path in folder.glob("env/lib/*/site-packages/torch/version.py")
    ]
    watched += [
        str(path.relative_to(folder))
        for path in folder.glob("env/lib/*/site-packages/torch-*/RECORD")
    ]
    watched += [
        str(path.relative_to(folder))
        for path in folder.glob("env/lib/*/site-packages/torch/lib/libtorch*.so")
    ]
    data = {
        "release": asdict(release),
        "place": {**asdict(environment), "python": str(environment.python.relative_to(folder))},
        "files": {name: os.stat(folder / name).st_size for name in watched},
    }
    try:
        replace_file(marker, json.dumps(data, indent=1), 0o600)  # an index may have a login
    except OSError as error:
        raise CannotJudgeError(_render_failure(release, _read_reason(error))) from None


def _is_own(folder: Path) -> bool:
    """Whether a folder was made here, by its name and by what lies in it: others would be lost."""
    if not _OWN_NAME.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    with contextlib.suppress(OSError):
        return all(name == _CONTENT or _MARKER in name for name in os.listdir(folder))
    return False


def _may_be_in_use(folder: Path) -> bool:
    """Whether a whole environment was used lately."""
    with contextlib.suppress(OSError):
        is_recent = time.time() - (folder / _MARKER).stat().st_mtime < IN_USE
        return is_recent and _read(Release(folder.name), folder) is not None
    return False


def _describe(folder: Path) -> CachedEnvironment:
    try:
        data = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        release = Release(**data["release"])
        environment, used = data["place"], (folder / _MARKER).stat().st_mtime
    except (OSError, ValueError, KeyError, TypeError):
        rest = Release(folder.name)
        return CachedEnvironment(
            name=folder.name,
            path=folder,
            release=rest,
            torch="",
            python="",
            size=_count_bytes(folder),
            used=0.0,
            is_whole=False,
        )
    is_whole = _read(release, folder) is not None
    return CachedEnvironment(
        name=folder.name,
        path=folder,
        release=release,
        torch=environment["torch"],
        python=environment["version"],
        size=_count_bytes(folder),
        used=used,
        is_whole=is_whole,
    )


def _count_bytes(folder: Path) -> int:
    """Bytes on disk; a file that has several links in the folder counts once."""
    total, seen = 0, set()
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                found = os.lstat(os.path.join(root, name))
                if (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    total += found.st_blocks * 512
    return total


def _touch(path: Path) -> None:
    """Note the use, now and then; a cache that cannot be written can still be used."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > 60:
            os.utime(path)


def _render_failure(release: Release, why: str) -> str:
    return f"torch {release.label} cannot be installed: {why}"


def _read_reason(error: BaseException) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).split(";")[0] or type(error).__name__

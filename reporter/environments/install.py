"""An installer is a list of commands: uv's if there is a uv, else those of venv and pip, tried from
the fittest build down.

The build that suits the machine (a CPU wheel where there is no GPU) lies on PyTorch's own index,
which a mirror may not have; the one on the default index always works, so it comes last. What went
wrong is told in one line.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from collectors.protocol.failure import name_signal
from reporter.core.errors import CannotJudgeError, InstallerEndedError
from reporter.core.tokens import remove_logins
from reporter.environments.release import Release
from reporter.execution import launch

PYTORCH = "https://download.pytorch.org/whl/{backend}"
_LIMIT = 3600.0
#: The exit code of a program that has met Ctrl-C and ended by itself.
_INTERRUPTED = 130
#: Seconds without a byte until uv asks again; it asks four times.
_READ_LIMIT = "60"
#: Releases before 2.3 were built for NumPy 1 and cannot use arrays of NumPy 2.
_NUMPY_2 = Version("2.3.0.dev0")
#: What tells a line with the reason from one with advice.
_REASONS = (
    (r"No space left on device|os error 28", "the disk is full"),
    (r"Read-only file system|os error 30", "the cache folder cannot be written"),
    (r"timed out|network timeout|ReadTimeout", "the index does not answer"),
    (
        r"end of file before message length|IncompleteRead|ZIP structure|Invalid zip"
        r"|located at .* is invalid|DO NOT MATCH THE HASHES|hash mismatch",
        "what the index sent is not the whole wheel",
    ),
    (
        r"does not match filename|inconsistent (?:version|name)",
        "the index sent a wheel of something else",
    ),
    (
        r"dns error|failed to lookup|Failed to fetch|Could not"
        r" connect|NewConnectionError|ConnectTimeout|"
        r"error sending request|network connectivity is disabled|Temporary failure in name"
        r" resolution",
        "the index cannot be reached",
    ),
    (
        r"no version of|no wheels? with a matching|No matching distribution|was not found in"
        r" the|not found in the package registry|"
        r"not supported on this platform|is not compatible|No interpreter found|No download found",
        "no wheel of it fits this machine",
    ),
)


@dataclass
class Installer:
    """Where the tools are.

    `uv` is None where only venv and pip can be used; `cache` is uv's, on the environments' disk.
    Once it `is_stopped` it installs nothing.
    """

    uv: Path | None
    cache: Path
    is_stopped: bool = False
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """End what is being installed, for threads that wait for it, and begin nothing else."""
        with self._lock:
            self.is_stopped = True
            running = tuple(self._running)
        for process in running:
            process.kill()

    def create(self, python: str, folder: Path) -> None:
        """Make an empty environment.

        Raises:
            CannotJudgeError: uv or venv fails; the sentence has its reason.
        """
        if self.uv is not None:
            self._run(
                [str(self.uv), "venv", "--quiet", "--no-project", "--python", python, str(folder)]
            )
        else:
            self._run([python, "-m", "venv", str(folder)])

    def install(self, python: Path, release: Release) -> None:
        """Put the release and its NumPy into the environment of `python`.

        Raises:
            CannotJudgeError: the installer fails; the sentence has its reason.
            InstallerEndedError: a signal has ended it, as Ctrl-C does and `stop`.
        """
        problem: CannotJudgeError | None = None
        for attempt in list_plainer_builds(release) if self.uv is not None else (release,):
            try:
                self._run(self._build_command(python, attempt))
                return
            except InstallerEndedError:
                raise
            except CannotJudgeError as error:
                problem = error
        assert problem is not None
        raise problem

    def _build_command(self, python: Path, release: Release) -> list[str]:
        """The command that installs `release` with its backend exactly as it is."""
        what = [release.wheel or f"torch=={release.version}", choose_numpy(release.label)]
        if self.uv is None:
            return self._build_pip_command(python, release, what)
        command = [str(self.uv), "pip", "install", "--quiet", "--python", str(python)]
        if release.backend is not None:
            command += ["--torch-backend", release.backend]
        if release.index is not None:
            # torch from there, the rest from wherever it is found
            command += ["--index", release.index, "--index-strategy", "unsafe-best-match"]
        if _is_prerelease(release.label):
            command += ["--prerelease", "allow"]  # a nightly needs nightlies of other packages
        return [*command, *what]

    def _build_pip_command(self, python: Path, release: Release, what: list[str]) -> list[str]:
        command = [str(python), "-m", "pip", "install", "--quiet", "--no-input"]
        command.append("--disable-pip-version-check")
        if release.backend not in (None, "auto"):
            command += ["--index-url", PYTORCH.format(backend=release.backend)]
            command += ["--extra-index-url", "https://pypi.org/simple"]
        if release.index is not None:
            command += ["--extra-index-url", release.index]
        return [*command, *what]

    def _run(self, command: Sequence[str]) -> None:
        variables = launch.build_variables()
        variables.pop("VIRTUAL_ENV", None)
        variables.setdefault("UV_CACHE_DIR", str(self.cache))
        variables.setdefault("UV_LINK_MODE", "hardlink")
        variables.setdefault("UV_HTTP_TIMEOUT", _READ_LIMIT)
        process = self._start(command, variables)
        try:
            with process:
                output = _wait(process)
        finally:
            self._running.discard(process)
        code = -signal.SIGINT if process.returncode == _INTERRUPTED else process.returncode
        if code < 0:
            raise InstallerEndedError(f"its installation was ended by {name_signal(-code)}")
        if code != 0:
            raise CannotJudgeError(find_reason(output))

    def _start(self, command: Sequence[str], variables: dict[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            if self.is_stopped:
                raise InstallerEndedError("its installation was stopped")
            try:
                process = subprocess.Popen(
                    command,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            except OSError as error:
                raise CannotJudgeError(f"{command[0]} cannot be run ({error.strerror})") from None
            self._running.add(process)
            return process


def _wait(process: subprocess.Popen[str]) -> str:
    """What an installer has printed, once it has ended; whatever ends the waiting ends it too."""
    try:
        return process.communicate(timeout=_LIMIT)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise CannotJudgeError("its installation did not end within an hour") from None
    except BaseException:
        process.kill()
        raise


def list_plainer_builds(release: Release) -> Iterator[Release]:
    """The same release with ever plainer builds: for this machine first, unless a build, an index
    or a wheel was named.
    """
    if release.wheel is not None:
        yield replace(release, backend=None)
        if (
            release.backend is None
        ):  # the wheel brings torch; what it needs may lie on PyTorch's index
            yield replace(release, backend="cpu")
        return
    if release.backend is not None or release.index is not None:
        yield release
        return
    yield replace(release, backend="auto")
    yield release


def _is_prerelease(version: str) -> bool:
    try:
        return Version(version).is_prerelease
    except InvalidVersion:
        return False


def choose_numpy(version: str) -> str:
    """The NumPy that a torch of this version can use, as a requirement."""
    try:
        is_old = Version(version) < _NUMPY_2
    except InvalidVersion:
        is_old = False
    return "numpy<2" if is_old else "numpy"


def find_reason(output: str) -> str:
    """Why an installation failed, in a few words, from what the installer printed."""
    text = " ".join(remove_logins(output).split())
    said = re.sub(r"^(error|ERROR):?\s*", "", text)[:300]
    for pattern, words in _REASONS:
        if re.search(pattern, output, re.IGNORECASE):
            return f"{words} ({said})"
    return said or "the installer gave no reason"


def find_uv() -> Path | None:
    """uv's program: of the installed package, else of PATH; None where there is none."""
    try:
        from uv import find_uv_bin

        return Path(find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
        return Path(found) if found else None

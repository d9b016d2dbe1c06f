"""What a user may ask to check on, before anything is installed.

A release is a version (`2.6.0`), a wheel, or an interpreter that is there already; it is plain
data, so it travels to other machines as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from reporter.core.errors import UsageError
from reporter.core.formatting import make_printable
from reporter.core.tokens import remove_logins
from reporter.environments.cache_folder import choose_variables
from reporter.execution.interpreter import probe_files

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?([.\w+-]*)", re.ASCII)
_NIGHTLY = "https://download.pytorch.org/whl/nightly/{backend}"
#: The version of a torch that came in a wheel of its project.
_WHEEL = re.compile(r"[\w.]+(\+(cpu|cu\d|rocm\d|xpu)[\w.]*)?")


@dataclass(frozen=True)
class Release:
    """One torch that was asked for.

    `label` is what people read, `key` is what identifies it. Exactly one of `version`, `wheel` (a
    path or URL), `python` (a path) and `problem` (why it is not known which torch is meant) is set.
    `index` is the package index of a version, None for the default one; `backend` is a build such
    as `cpu` or `cu126`, None for what suits the machine.
    """

    label: str
    version: str | None = None
    wheel: str | None = None
    python: str | None = None
    index: str | None = None
    backend: str | None = None
    problem: str | None = None

    @property
    def key(self) -> str:
        """What its results are known by, also in the store: the label, unless something else could
        have the same one. A wheel is known by its place, and a version that the default index has
        too by the index.
        """
        if self.wheel is not None:
            return remove_logins(self.wheel)
        if self.index is not None and self._is_final_version:
            return f"{self.label} of {remove_logins(self.index)}"
        return self.label

    @property
    def is_final(self) -> bool:
        """Whether it is a release of the default index, whose files never change; a nightly, a
        wheel and an interpreter may.
        """
        return self.index is None and self._is_final_version

    @property
    def _is_final_version(self) -> bool:
        try:
            return self.version is not None and not Version(self.version).is_prerelease
        except InvalidVersion:
            return False

    @property
    def folder_name(self) -> str:
        """Where its environment lies in the cache: readable, and different for whatever differs."""
        subject = self.version or Path(self.wheel or "").name or "python"
        name = re.sub(r"[^\w.+-]", "_", subject)[:60]
        differs = "\n".join([_read_state(self.wheel or ""), self.index or "", self.backend or ""])
        more = hashlib.sha256(differs.encode()).hexdigest()[:8] if differs.strip() else "default"
        return f"{name}-{more}"


def parse(text: str, index: str | None = None, backend: str | None = None) -> Release:
    """The release that `--torch TEXT` asks for; the index is not asked whether there is one.

    Args:
        text: a version such as `2.6.0`, or the path or URL of a wheel.
        index: URL of the package index of a version; None: PyTorch's own of nightlies for a
            development version, else the default one.
        backend: the build of a version, such as `cpu`; None: what suits the machine.

    Raises:
        UsageError: it is neither.
    """
    text = text.strip()
    if text.endswith(".whl"):
        is_url = "://" in text
        if not is_url and not Path(text).expanduser().is_file():
            raise UsageError(
                f"there is no wheel {text}; give its path, its URL, or a version such as 2.6.0"
            )
        location = text if is_url else str(Path(text).expanduser().resolve())
        return Release(_read_wheel_version(location), wheel=location)
    version = _parse_version(text)
    if version is None:
        raise UsageError(
            f"{remove_logins(text)!r} is no torch release; give a version such as 2.6.0, `latest`,"
            " `nightly`, or a wheel"
        )
    if version.is_devrelease:
        index = index or resolve_nightly_index(backend)
    return Release(text, version=text, index=index, backend=backend)


def _parse_version(text: str) -> Version | None:
    try:
        return Version(text) if _VERSION.fullmatch(text) else None
    except InvalidVersion:
        return None


def resolve_nightly_index(backend: str | None) -> str:
    """The index of PyTorch's nightly builds, for a build such as `cu126`; None: for the CPU."""
    return _NIGHTLY.format(backend=backend if backend not in (None, "auto") else "cpu")


def build_interpreter_release(python: Path) -> Release:
    """The torch of an interpreter that is there already."""
    return Release(make_printable(str(python), None), python=str(python))


def identify(release: Release) -> str:
    """What has to be the same for results of a release to count as its own some time later.

    An interpreter is asked for its torch. A build that somebody made may have been made anew from
    the same commit, so it is never the same again.
    """
    parts = [release.key, release.index or "", release.backend or ""]
    if release.wheel is not None:
        parts.append(_read_state(release.wheel))
    if release.python is not None:
        parts.append(_read_torch(Path(release.python)))
    return remove_logins(" ".join(parts))


def _read_torch(python: Path) -> str:
    """The torch of an interpreter and the commit of it."""
    try:
        info = probe_files(python, choose_variables(python))
    except UsageError as error:
        return str(error)  # and nothing that ran there
    mark = f"{info.torch} {info.torch_git}"
    return mark if _WHEEL.fullmatch(info.torch) else f"{mark} {uuid.uuid4()}"


def _read_wheel_version(location: str) -> str:
    """`2.13.0+cpu` of torch-2.13.0+cpu-cp311-….whl; a URL may quote the plus sign."""
    parts = location.rsplit("/", 1)[-1].replace("%2B", "+").split("-")
    return parts[1] if len(parts) > 2 else parts[0]


def _read_state(wheel: str) -> str:
    """A wheel and, of one on this disk, its state: a wheel that was built anew is another one."""
    try:
        found = os.stat(wheel)
    except OSError:
        return wheel
    return f"{wheel} {found.st_size} {found.st_mtime_ns}"


def strip_local_part(version: str) -> str:
    """A version without its local part: `2.13.0` of `2.13.0+cpu`."""
    return version.split("+")[0]

"""Any Python at hand will do, if the release has a wheel for it: the newest of those is taken.

uv knows the interpreters of the system, of PATH and its own; pyenv's lie beside each other and need
not be on PATH. If none of them fits, uv is asked for one of its own, which it downloads.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from reporter.execution import launch

Minor = tuple[int, int]


def find_pythons(uv: Path | None) -> dict[Minor, Path]:
    """The interpreters on this machine, one for each minor version; only those outside of virtual
    environments.
    """
    found: dict[Minor, Path] = {}
    for version, path in (*_ask_uv(uv), *_list_pyenv(), *_search_path(), _find_own()):
        if version is not None and path is not None:
            found.setdefault(version, path)
    return found


def choose(wanted: Sequence[Minor], uv: Path | None) -> str | None:
    """What to make an environment with: the path of the best interpreter here, else a version for
    uv to fetch, else None.
    """
    here = find_pythons(uv)
    for version in wanted:
        if version in here:
            return str(here[version])
    if uv is not None and wanted:
        return f"{wanted[0][0]}.{wanted[0][1]}"
    return None


def _ask_uv(uv: Path | None) -> list[tuple[Minor | None, Path | None]]:
    if uv is None:
        return []
    command = [str(uv), "python", "list", "--only-installed", "--output-format", "json"]
    try:
        done = subprocess.run(
            command, env=launch.build_variables(), capture_output=True, text=True, timeout=60
        )
        listed = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []
    found: list[tuple[Minor | None, Path | None]] = []
    for entry in listed:
        parts, path = entry.get("version_parts") or {}, entry.get("path")
        usable = entry.get("implementation") == "cpython" and entry.get("variant") in (
            None,
            "default",
        )
        # a pyenv shim stands on PATH for every version, and runs only the ones that are switched on
        if path and "shims" in Path(path).parts:
            continue
        if path and usable and not _is_pre(str(entry.get("version", ""))):
            found.append(((int(parts["major"]), int(parts["minor"])), Path(path)))
    return found


def _is_pre(version: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)*", version) is None


def _list_pyenv() -> list[tuple[Minor | None, Path | None]]:
    root = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    found: list[tuple[Minor | None, Path | None]] = []
    for folder in sorted(root.glob("3.*"), reverse=True):
        version = re.fullmatch(r"(3)\.(\d+)\.\d+", folder.name)
        python = folder / "bin" / "python"
        if version and python.exists():
            found.append(((3, int(version.group(2))), python))
    return found


def _search_path() -> list[tuple[Minor | None, Path | None]]:
    found: list[tuple[Minor | None, Path | None]] = []
    for minor in range(9, 16):
        path = shutil.which(f"python3.{minor}")
        if path and "shims" not in Path(path).parts:
            found.append(((3, minor), Path(path)))
    return found


def _find_own() -> tuple[Minor | None, Path | None]:
    base = getattr(sys, "_base_executable", None) or sys.executable
    return (sys.version_info[0], sys.version_info[1]), Path(base)

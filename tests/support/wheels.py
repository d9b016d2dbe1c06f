"""Wheels with torch's name and none of its weight: an installer is tested with what it installs, a
compiler never.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

#: The commit that they say they were built from.
COMMIT = "c0ffee" * 6 + "c0ff"


def make_wheel(folder: Path, name: str, version: str, code: str = "") -> Path:
    """A pure wheel with one module whose text is `code`; the module knows its version."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n{code}",
        f"{name}/version.py": f"git_version = {COMMIT!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, text)
    return path


TORCH = "from torch import version\n"


def make_wheels(folder: Path, *versions: str) -> dict[str, Path]:
    """Wheels of these torch versions, and of a NumPy for them, in one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    make_wheel(folder, "numpy", "1.26.4")
    return {version: make_wheel(folder, "torch", version, TORCH) for version in versions}


def no_shims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes pyenv's shims out of PATH: uv starts each of them to see what it is, which takes longer
    than the installation.
    """
    interpreters = [place for place in os.environ["PATH"].split(os.pathsep) if "shims" not in place]
    monkeypatch.setenv("PATH", os.pathsep.join(interpreters))

"""Installed packages with their releases.

The host knows which of them a report may name; the names of the others are what its leak check
looks for.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import re
import sys
from importlib import metadata
from typing import Dict, Optional

from ..protocol.environment import TritonFacts

_TRITON_PACKAGES = ("triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu")


def list_pip_packages() -> Dict[str, str]:
    """Packages that this interpreter imports, by normalized name; the first on its path wins."""
    found: Dict[str, str] = {}
    for item in metadata.distributions():
        with contextlib.suppress(Exception):  # what an installer wrote may be broken
            name = re.sub(r"[-_.]+", "-", item.metadata["Name"]).lower()
            if name not in found:
                found[name] = str(item.version)
    return dict(sorted(found.items()))


def list_conda_packages() -> Dict[str, str]:
    """Packages in the conda environment of this interpreter; empty where it is none."""
    found: Dict[str, str] = {}
    for path in sorted(glob.glob(os.path.join(sys.prefix, "conda-meta", "*.json"))):
        name, _, rest = os.path.basename(path)[: -len(".json")].rpartition("-")[0].rpartition("-")
        if name:
            found[name] = rest
    return found


def read_pip_version() -> str:
    """The version of pip itself; empty where there is none."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("pip")
    return ""


def find_triton() -> TritonFacts:
    """Triton without importing it; `backends` are folders of its package."""
    with contextlib.suppress(Exception):  # finders of imports may be anyone's
        spec = importlib.util.find_spec("triton")
        origin = spec.origin if spec is not None else None
        if origin is not None:
            folder = os.path.join(os.path.dirname(origin), "backends")
            names = os.listdir(folder) if os.path.isdir(folder) else []
            backends = [name for name in sorted(names) if name in ("amd", "nvidia", "intel", "cpu")]
            return {
                "version": _find_triton_version(),
                "backends": backends,
                "interpret": os.environ.get("TRITON_INTERPRET") == "1",
            }
    return {}


def _find_triton_version() -> Optional[str]:
    """That of the first installed package of its names; None where it comes without one."""
    for name in _TRITON_PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None

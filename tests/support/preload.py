"""A machine whose locks or clock do not work, for one process and its children: a library that is
loaded before the C library (`tests/data/faults/preload.c`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.places import DATA

SOURCE = DATA / "faults" / "preload.c"


def build(folder: Path) -> Path | None:
    """The library, made in `folder`; None where it cannot be used or there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None:
        return None
    library = folder / "preload.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def without_locks(library: Path, folder: Path) -> dict[str, str]:
    """Variables with which no file below `folder` can be locked."""
    return {"LD_PRELOAD": str(library), "FAULT_NO_LOCKS": str(folder)}


def jumping_clock(library: Path) -> dict[str, str]:
    """Variables with which the clock jumps a day forwards and back every ten seconds."""
    return {"LD_PRELOAD": str(library), "FAULT_CLOCK": "1"}

"""Which files belong to an installed distribution, wherever its installer put them.

An interpreter's own packages lie in `site-packages`, Debian's in `dist-packages`. A folder of
`pip install --target` on `PYTHONPATH` has neither name, but each distribution's list of its files:
https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import csv
import glob
import os
import sys
from typing import Dict, FrozenSet, Set

_RECORDED: Dict[str, FrozenSet[str]] = {}


def is_installed(real: str) -> bool:
    """Whether a file, given by its real path, was put where it is by an installer."""
    if has_known_name(real):
        return True
    folders = [entry for entry in sys.path if not has_known_name(entry)]
    return any(real in _list_recorded(folder) for folder in folders)


def has_known_name(path: str) -> bool:
    """Whether a path has the name of a folder that installers put packages into."""
    return "site-packages" in path or "dist-packages" in path


def _list_recorded(entry: str) -> FrozenSet[str]:
    """The files that the distributions of a folder on `sys.path` say are theirs."""
    if entry not in _RECORDED:
        folder = os.path.realpath(entry)
        found: Set[str] = set()
        for record in glob.glob(os.path.join(glob.escape(folder), "*.dist-info", "RECORD")):
            try:
                with open(record, encoding="utf-8", newline="") as file:
                    names = [row[0] for row in csv.reader(file) if row]
            except (OSError, ValueError, csv.Error):
                continue
            found.update(os.path.normpath(os.path.join(folder, name)) for name in names)
        _RECORDED[entry] = frozenset(found)
    return _RECORDED[entry]

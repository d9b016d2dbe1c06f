"""The folder that a report is going to be written to: chosen, and refused before a run of minutes
rather than after it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.core.settings import FolderOptions
from reporter.report.folder import check_output

DEFAULT_FOLDER = "bugreport-report"


def choose_output(options: FolderOptions) -> Path:
    """The absolute path of the report folder to write; without -o the first free name in `cwd`.

    Nothing is created and nothing is deleted here; missing parents are fine as long as they can be
    made.

    Raises:
        UsageError: `write_report` would refuse it, minutes later; or there is no folder for
            --resume.
    """
    folder = options.resume or options.output
    if folder is None:
        folder = _free(options.cwd)
    if options.resume is not None and not folder.is_dir():
        raise UsageError(f"there is no folder {folder} to resume; start anew without --resume")
    check_output(folder, replace=options.force)
    _check_writable(folder)
    return folder


def _free(cwd: Path) -> Path:
    folder, number = cwd / DEFAULT_FOLDER, 1
    while folder.exists() or folder.is_symlink():
        number += 1
        folder = cwd / f"{DEFAULT_FOLDER}-{number}"
    return folder


def _check_writable(folder: Path) -> None:
    """Prove it by doing it: permission bits say little on network disks, for root, or under
    /proc.
    """
    place = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".bugreport-", dir=place):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"the output folder {folder} cannot be written ({reason} in {place}); choose another"
            " with -o DIR"
        ) from None

"""The folder that a report is going to be written to: chosen, and refused before a run of minutes
rather than after it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.core.settings import FolderOptions
from reporter.report.folder import check_output

DEFAULT_FOLDER = "bugreport-report"


@contextlib.contextmanager
def choose_output(options: FolderOptions) -> Iterator[Path]:
    """The absolute path of the report folder to write.

    One that is named is not created here; missing parents are fine as long as they can be made.
    Without -o it is the first free name in `cwd`, which is made at once, so that two runs side by
    side have two; it goes at the end where nothing was written.

    Raises:
        UsageError: `write_report` would refuse it, minutes later; or there is no folder for
            --resume.
    """
    named = options.resume or options.output
    _refuse_unstorable(named or options.cwd)
    if named is None:
        folder = _make_free(options.cwd)
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return
    if options.resume is not None and not named.is_dir():
        raise UsageError(f"there is no folder {named} to resume; start anew without --resume")
    check_output(named, replace=options.force)
    _check_writable(named)
    yield named


def _make_free(cwd: Path) -> Path:
    folder, number = cwd / DEFAULT_FOLDER, 1
    while True:
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1
            folder = cwd / f"{DEFAULT_FOLDER}-{number}"
        except OSError as error:
            raise _build_refusal(folder, cwd, error) from None


def _refuse_unstorable(folder: Path) -> None:
    """Refuses a path that the store cannot hold: it knows every report by its folder."""
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{folder} has a name that is not UTF-8, so that no report can be kept there; choose"
            " another with -o DIR"
        ) from None


def _check_writable(folder: Path) -> None:
    """Prove it by doing it: permission bits say little on network disks, for root, or under
    /proc.
    """
    place = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".bugreport-", dir=place):
            pass
    except OSError as error:
        raise _build_refusal(folder, place, error) from None


def _build_refusal(folder: Path, place: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the output folder {folder} cannot be written ({error.strerror or error} in {place});"
        " choose another with -o DIR"
    )

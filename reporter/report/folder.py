"""The report folder: its files by name, and writing it, all of it or none of it, and never over
something that is not ours. It needs the standard library alone, as the sandbox does.

Everything is written into a hidden sibling, flushed to the disk, and renamed into place. A full
disk, Ctrl-C or a lost machine leaves either the old folder or the new one, never a mixture.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from reporter.core.atomic import read_umask, replace_file
from reporter.core.errors import UsageError
from reporter.core.json_values import Json

#: What may leave.
REPORT, ISSUE, PAGE = "report.json", "issue.md", "report.html"
REPRO, TEST = "repro.py", "test_repro.py"
#: Beside issue.md, where the log did not fit into it.
ERROR_LOG = "error_log.txt"
#: The structured trace of the repro, for PyTorch's form.
TRACE = "trace.log"
#: The folder of what stays.
PRIVATE = "private"
#: In `private/`: what a resumed run or the owner of the program finds again.
RECORDING, JOURNAL, EVIDENCE = "recording.json", "journal.jsonl", "evidence"
#: In `private/` of a report that is being replaced: what the next one has written so far.
UNFINISHED = "unfinished"
#: In `private/`: the names of the private program by those that stand for them.
MAPPING = "mapping.json"
#: In `private/`: what the leak check knew when the report was written, for the leak check when it
#: is sent.
ALLOW_LIST = "allow_list.json"
#: Its name in reports that were written before it was called so.
OLD_ALLOW_LIST = "gate.json"


def load_document(folder: Path) -> Json | None:
    """The report of a folder as it was read; None where there is none."""
    try:
        document = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_report = isinstance(document, dict) and isinstance(document.get("verdict"), dict)
    return document if is_report else None


def find_private_folder(output: Path) -> Path:
    """Where a run keeps what stays while it has no report yet: `private/` of its output folder, or
    `private/unfinished/` of an earlier report, which is whole until the new one takes its place.
    """
    private = output / PRIVATE
    return private / UNFINISHED if load_document(output) is not None else private


def write_report(
    output: Path,
    files: Mapping[str, str],
    private: Mapping[str, bytes | str],
    *,
    replace: bool = False,
) -> Path:
    """Writes a report folder atomically and returns its absolute path.

    Args:
        output: the folder. It may be missing, empty, hold nothing but `private/`, or, with
            `replace`, be an earlier report. What `find_private_folder` names there is kept, unless
            `private` has a file of that name.
        files: what may leave, relative path -> text.
        private: what stays, relative to `private/`; that folder gets mode 0700 and its files 0600.

    Raises:
        UsageError: `output` holds something else, or cannot be written. Nothing has changed then.
        ValueError: a name in `files` or `private` leads out of its folder.
    """
    output = output.absolute()
    check_output(output, replace=replace)
    contents: dict[str, bytes] = {}
    for name, text in files.items():
        if PurePosixPath(name).parts[0] == PRIVATE:
            raise ValueError(f"{name} belongs to the private files")
        contents[_check_name(name)] = text.encode()
    for name, data in private.items():
        contents[f"{PRIVATE}/{_check_name(name)}"] = (
            data if isinstance(data, bytes) else data.encode()
        )
    with _explain_errors(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(
            tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}.", suffix=".partial")
        )
        try:
            _fill(fresh, contents, find_private_folder(output))
            _put_in_place(fresh, output)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return output


def check_output(output: Path, *, replace: bool = False) -> None:
    """Refuses a folder that `write_report` would refuse, so that a run can do so before it starts.

    Raises:
        UsageError: see `write_report`.
    """
    if not os.path.lexists(output):
        return
    if not output.is_dir() or output.is_symlink():
        raise UsageError(f"{output} is not a folder; choose another one with --output")
    with _explain_errors(output):
        names = {entry.name for entry in output.iterdir()}
    if not names or names == {PRIVATE}:
        return
    if load_document(output) is None:
        raise UsageError(
            f"{output} holds files that are not a report; choose an empty folder with --output"
        )
    if not replace:
        raise UsageError(
            f"{output} holds an earlier report; choose another folder with --output or ask to"
            " replace it"
        )


def write_private(path: Path, text: str) -> None:
    """Writes a file for the user's eyes alone, mode 0600 from its first byte on, as a whole."""
    replace_file(path, text, 0o600)


def _check_name(name: str) -> str:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError(f"{name!r} is not a name inside the report folder")
    return str(path)


@contextlib.contextmanager
def _explain_errors(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"the report cannot be written to {output}: {reason}; make room or choose another"
            " folder with --output"
        ) from error


def _fill(folder: Path, contents: Mapping[str, bytes], kept: Path) -> None:
    os.chmod(folder, 0o755 & ~read_umask())
    secret = folder / PRIVATE
    secret.mkdir(mode=0o700)
    for path in kept.iterdir() if kept.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, secret / path.name, symlinks=True)
        else:
            shutil.copy2(path, secret / path.name, follow_symlinks=False)
    for name, data in contents.items():
        _write(folder / name, data, 0o600 if PurePosixPath(name).parts[0] == PRIVATE else 0o644)
    for path in (secret, *secret.rglob("*")):
        if not path.is_symlink():
            os.chmod(path, 0o700 if path.is_dir() else 0o600)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            _sync(path)


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as target:
        target.write(data)
        target.flush()
        os.fsync(target.fileno())


def _sync(folder: Path) -> None:
    """Makes the names in a folder last; some file systems do not offer it, and then there is
    nothing to do.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put_in_place(fresh: Path, output: Path) -> None:
    """The swap: an earlier folder is moved aside, and moved back should the second rename fail, or
    Ctrl-C come between the two. It is removed only where the new one has taken its place.
    """
    if not output.exists():
        os.rename(fresh, output)
        _sync(output.parent)
        return
    aside = (
        Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}.", suffix=".old"))
        / output.name
    )
    try:
        os.rename(output, aside)
        os.rename(fresh, output)
        _sync(output.parent)
    finally:
        if fresh.exists() and aside.exists():
            os.rename(aside, output)
        shutil.rmtree(aside.parent, ignore_errors=True)

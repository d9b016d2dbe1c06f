"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Writes a file in UTF-8; whoever reads meanwhile finds the old one.

    Args:
        path: a link is followed; what is no ordinary file, such as `/dev/stdout`, is written to.
        text: all of it.

    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path = Path(os.path.realpath(path))
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~read_umask()
    replace_file(path, text, mode)


def replace_file(path: Path, text: str, mode: int) -> None:
    """Puts a file in UTF-8 with these permissions in the place of what is there, a link included.

    Nobody else can read it before it has them.

    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, mode)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def read_umask() -> int:
    """The permissions that new files of this process do not get."""
    current = os.umask(0o022)
    os.umask(current)
    return current

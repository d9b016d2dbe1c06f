"""Files that are there whole or not at all, or line by line: any moment may be the last of the
process that writes them.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Callable, Iterator


@contextlib.contextmanager
def write_whole(path: str) -> Iterator[str]:
    """The path to write to; what is there at the end becomes `path`, unless something is raised."""
    yield path + ".part"
    os.replace(path + ".part", path)


def write_json(path: str, value: object) -> None:
    """Writes a value as JSON, whole or not at all: any moment may be this process's last."""
    with write_whole(path) as part, open(part, "w", encoding="utf-8") as file:
        json.dump(value, file)


@contextlib.contextmanager
def append_lines(path: str) -> Iterator[Callable[[object], None]]:
    """Adds values to a file as JSON lines, each there at once: any moment may be this process's
    last.
    """
    with open(path, "a", encoding="utf-8") as file:

        def tell(line: object) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        yield tell

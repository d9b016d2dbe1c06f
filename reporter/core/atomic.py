"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Writes a file in UTF-8; whoever reads meanwhile finds the old one.

    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)

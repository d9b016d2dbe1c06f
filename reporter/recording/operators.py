"""Which call of a torch function ended a program: read from the file that a counting run wrote."""

from __future__ import annotations

import struct
from pathlib import Path

#: See `collectors.record.operators.LAYOUT`.
_LAYOUT = "qq"


def last_operator(path: Path, died: bool) -> int | None:
    """The number of the call that was under way when the process died, or of the last that raised;
    None where there is none.
    """
    try:
        begun, raised = struct.unpack(_LAYOUT, path.read_bytes())
    except (OSError, struct.error):
        return None
    number: int = begun if died else raised
    return number if number >= 0 else None

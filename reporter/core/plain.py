"""Plain values, as JSON has them, and the account of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: A JSON object whose shape is written down where it is made: by the target, or in
#: `report.sections`.
Json = dict[str, Any]


@dataclass(frozen=True)
class ProgramAccount:
    """How the watched run of a stranger's program ended.

    `exit` is the code that its supervisor saw, negative for a signal, None where a limit ended it;
    `said` the program's own. `reached` is what of its recorder it reached for.
    """

    exit: int | None = None
    said: int | None = None
    exception: str = ""
    calls: int = 0
    compared: int = 0
    reached: tuple[str, ...] = ()

"""How the watched run of a stranger's program ended, for who has to judge what it says."""

from __future__ import annotations

from dataclasses import dataclass


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

"""The command line of `releases`, beside the options that other commands have too."""

from __future__ import annotations

from dataclasses import dataclass

from reporter.core.arguments import (
    declare_argument,
    declare_backend,
    declare_index,
    declare_option,
    declare_switch,
)


@dataclass(frozen=True)
class ReleasesArguments:
    """What to do with the environments, and with which."""

    action: str | None = declare_argument("[add|prune]", "What to do.  [default: list them]", None)
    versions: tuple[str, ...] = declare_argument("V...", "What to add: versions or wheels.", ())
    offered: bool = declare_switch(
        "--offered", "List what the index offers for this machine instead."
    )
    keep: float | None = declare_option(
        "--keep", "GIB", "prune: what may stay.  [default: nothing]"
    )
    backend: str | None = declare_backend()
    index: str | None = declare_index("Package index of the releases.")

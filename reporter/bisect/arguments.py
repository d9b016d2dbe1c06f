"""The command line of `bisect`, beside the options that other commands have too."""

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
class BisectArguments:
    """Between which two releases to search for what, and in which builds."""

    repro: str = declare_argument("REPRO", "A repro file, a report folder, or an issue.")
    good: str | None = declare_option(
        "--good", "V", "A release that is right.  [default: the oldest, or newest]"
    )
    bad: str | None = declare_option("--bad", "V", "A release that fails.  [default: the report's]")
    find_fix: bool = declare_switch("--find-fix", "Look for what fixed it, after --bad.")
    python: tuple[str, ...] = declare_option(
        "--python", "PATH", "Search in these interpreters instead of releases; repeatable.", ()
    )
    nightly: bool = declare_switch(
        "--nightly", "Go on among the nightlies between the two releases."
    )
    index: str | None = declare_index("Package index that lists the builds to search.")
    backend: str | None = declare_backend()
    trust: bool = declare_switch(
        "--trust", "Run the program of an issue without a sandbox, since you have read it."
    )

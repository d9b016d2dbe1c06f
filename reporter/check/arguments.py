"""The command line of `check`, beside the options that other commands have too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reporter.core.arguments import (
    declare_argument,
    declare_backend,
    declare_index,
    declare_option,
    declare_switch,
)
from reporter.core.kinds import Word


class Executor(Word):
    """What runs the checks."""

    #: Processes of this machine.
    LOCAL = "local"
    #: A Dask cluster.
    DASK = "dask"


@dataclass(frozen=True)
class CheckArguments:
    """What is checked, where and how, who does the work, which files are written, and whether
    issues are told.
    """

    repros: tuple[str, ...] = declare_argument(
        "REPRO...", "Repro files, report folders, or issues (OWNER/REPO#N).", ()
    )
    torch: tuple[str, ...] = declare_option(
        "--torch", "V", "A release: 2.6.0, 2.6, latest, nightly, or a wheel; repeatable.", ()
    )
    python: tuple[str, ...] = declare_option(
        "--python", "PATH", "An interpreter that has a torch; repeatable.", ()
    )
    all: bool = declare_switch(
        "--all", "Every report of the store; a REPRO may be a folder of repros."
    )
    backend: str | None = declare_backend("  [default: what suits the machine]")
    index: str | None = declare_index("Package index of the releases, such as a nightly one.")
    fresh: bool = declare_switch("--fresh", "Fresh processes only, no warm workers.")
    exit_code: bool = declare_switch(
        "--exit-code", "For `git bisect run`: fresh processes, and 125 for another failure."
    )
    skip_known: bool = declare_switch(
        "--skip-known",
        "Leave out what cannot have changed: a release or commit on which it was judged.",
    )
    markdown: Path | None = declare_option("--markdown", "FILE", "Write the matrix as Markdown.")
    html: Path | None = declare_option("--html", "FILE", "Write the matrix as a page.")
    results: Path | None = declare_option(
        "--results", "FILE", "Write the results for `check --merge`."
    )
    shard: str | None = declare_option("--shard", "I/N", "Do only the I-th of N parts.")
    merge: bool = declare_switch("--merge", "REPRO are result files of shards: put them together.")
    executor: str = declare_option("--executor", "local|dask", "What runs the checks.", "local")
    scheduler: str | None = declare_option(
        "--scheduler", "ADDRESS", "A Dask scheduler, tcp://HOST:PORT."
    )
    comment: bool = declare_switch("--comment", "Tell the issues what has changed, after a yes.")
    yes: bool = declare_switch("--yes", "Tell them without asking.")
    trust: bool = declare_switch(
        "--trust", "Run programs of issues without a sandbox, since you have read them."
    )

"""The command line of `check`, beside the options that other commands have too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reporter.core.arguments import argument, option, switch


@dataclass(frozen=True)
class CheckSelection:
    """What is checked, and where."""

    repros: tuple[str, ...] = argument(
        "REPRO...", "Repro files, report folders, or issues (OWNER/REPO#N).", ()
    )
    torch: tuple[str, ...] = option(
        "--torch", "V", "A release: 2.6.0, 2.6, latest, nightly, or a wheel; repeatable.", ()
    )
    python: tuple[str, ...] = option(
        "--python", "PATH", "An interpreter that has a torch; repeatable.", ()
    )
    all: bool = switch("--all", "Every report of the store; a REPRO may be a folder of repros.")
    backend: str | None = option(
        "--torch-backend",
        "NAME",
        "Build to install: cpu, cu126, ...  [default: what suits the machine]",
    )
    index: str | None = option(
        "--index", "URL", "Package index of the releases, such as a nightly one."
    )


@dataclass(frozen=True)
class CheckMode:
    """How each repro is asked."""

    fresh: bool = switch("--fresh", "Fresh processes only, no warm workers.")
    exit_code: bool = switch(
        "--exit-code", "For `git bisect run`: fresh processes, and 125 for another failure."
    )
    skip_known: bool = switch(
        "--skip-known",
        "Leave out what cannot have changed: a release or commit on which it was judged.",
    )


@dataclass(frozen=True)
class CheckArguments(CheckMode, CheckSelection):
    """What is checked and how, who does the work, which files are written, and whether issues are
    told.

    Fields stand in the order of --help, which begins with those of the last base.
    """

    markdown: Path | None = option("--markdown", "FILE", "Write the matrix as Markdown.")
    html: Path | None = option("--html", "FILE", "Write the matrix as a page.")
    results: Path | None = option("--results", "FILE", "Write the results for `check --merge`.")
    shard: str | None = option("--shard", "I/N", "Do only the I-th of N parts.")
    merge: bool = switch("--merge", "REPRO are result files of shards: put them together.")
    executor: str = option("--executor", "local|dask", "What runs the checks.", "local")
    scheduler: str | None = option("--scheduler", "ADDRESS", "A Dask scheduler, tcp://HOST:PORT.")
    comment: bool = switch("--comment", "Tell the issues what has changed, after a yes.")
    yes: bool = switch("--yes", "Tell them without asking.")
    trust: bool = switch(
        "--trust", "Run programs of issues without a sandbox, since you have read them."
    )

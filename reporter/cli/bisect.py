"""`bugreport bisect`: what broke it, or what fixed it."""

from __future__ import annotations

from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import taking
from reporter.settings import Options

Words = list[str] | None


@taking("json", "jobs", "timeout", "memory", "no_input", "verbose")
def command(
    options: Options,
    repro: Annotated[str, typer.Argument(metavar="REPRO", help="A repro file or a report folder.")],
    good: Annotated[
        str | None,
        typer.Option(
            "--good", metavar="V", help="A release that is right.  [default: the oldest, or newest]"
        ),
    ] = None,
    bad: Annotated[
        str | None,
        typer.Option("--bad", metavar="V", help="A release that fails.  [default: the report's]"),
    ] = None,
    find_fix: Annotated[
        bool, typer.Option("--find-fix", help="Look for what fixed it, after --bad.")
    ] = False,
    python: Annotated[
        Words,
        typer.Option(
            "--python",
            metavar="PATH",
            help="Search in these interpreters instead of releases; repeatable.",
            show_default=False,
        ),
    ] = None,
    nightly: Annotated[
        bool, typer.Option("--nightly", help="Go on among the nightlies between the two releases.")
    ] = False,
    index: Annotated[
        str | None,
        typer.Option(
            "--index", metavar="URL", help="Package index that lists the builds to search."
        ),
    ] = None,
    torch_backend: Annotated[
        str | None,
        typer.Option("--torch-backend", metavar="NAME", help="Build to install: cpu, cu126, ..."),
    ] = None,
) -> int:
    """Find the first release that broke a repro, or with --find-fix the first one that fixed it.

    Installs the releases that it asks, verifies both ends first, and prints the two neighbouring builds with their commits. Exit
    code 1: the ends do not differ; 125: an end cannot be judged.
    """

    def work() -> shell.Outcome:
        from reporter.releases import bisect

        asked = bisect.Request(
            repro, good, bad, find_fix, tuple(python or ()), index, torch_backend, nightly
        )
        return bisect.bisect(asked, options)

    return shell.finish(options, work)

"""`bugreport bisect`: what broke it, or what fixed it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from reporter.cli import shell
from reporter.cli.parameters import Parameter, taking
from reporter.core.settings import Options

#: What `bisect` alone has; most are fields of `SearchEnds` and `SearchBuilds`.
PARAMETERS = (
    Parameter("good", "--good", "V", "A release that is right.  [default: the oldest, or newest]"),
    Parameter("bad", "--bad", "V", "A release that fails.  [default: the report's]"),
    Parameter("find_fix", "--find-fix", None, "Look for what fixed it, after --bad."),
    Parameter("python", "--python", "PATH",
        "Search in these interpreters instead of releases; repeatable.", many=True),
    Parameter("nightly", "--nightly", None, "Go on among the nightlies between the two releases."),
    Parameter("index", "--index", "URL", "Package index that lists the builds to search."),
    Parameter("backend", "--torch-backend", "NAME", "Build to install: cpu, cu126, ..."),
    Parameter("trust", "--trust", None,
        "Run the program of an issue without a sandbox, since you have read it."),
)  # fmt: skip


@taking("json", "jobs", "timeout", "memory", "no_input", "verbose", own=PARAMETERS)
def command(
    options: Options,
    repro: Annotated[
        str,
        typer.Argument(metavar="REPRO", help="A repro file, a report folder, or an issue."),
    ],
    **words: Any,
) -> int:
    """Find the first release that broke a repro, or with --find-fix the first one that fixed it.

    Installs the releases that it asks, verifies both ends first, and prints the two neighbouring
    builds with their commits. Exit code 1: the ends do not differ; 125: an end cannot be judged.
    """

    def work() -> shell.CommandResult:
        from reporter.bisect import bisect
        from reporter.cli.prompt import Terminal
        from reporter.core.arguments import take_group

        request = bisect.BisectRequest(
            repro,
            take_group(bisect.SearchEnds, words),
            take_group(bisect.SearchBuilds, words),
            bool(words["trust"]),
            Terminal(options),
        )
        return bisect.bisect(request, options)

    return shell.finish(options, work)

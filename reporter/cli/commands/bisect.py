"""`bugreport bisect`: what broke it, or what fixed it."""

from __future__ import annotations

from reporter.bisect.arguments import BisectArguments
from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("json", "jobs", "timeout", "memory", "no_input", "verbose", own=BisectArguments)
def run_command(options: Options, asked: BisectArguments) -> int:
    """Find the first release that broke a repro, or with --find-fix the first one that fixed it.

    Installs the releases that it asks, verifies both ends first, and prints the two neighboring
    builds with their commits. Exit code 1: the ends do not differ; 125: an end cannot be judged.
    """

    def work() -> shell.CommandResult:
        from reporter.bisect.bisect import bisect
        from reporter.cli.prompt import Terminal

        return bisect(asked, processes=options, talk=options, user=Terminal(options))

    return shell.finish(options, work)

"""`bugreport releases`: the cached environments."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options
from reporter.environments.arguments import ReleasesArguments


@declare_options("json", "no_input", "verbose", own=ReleasesArguments)
def run_command(options: Options, asked: ReleasesArguments) -> int:
    """List the environments of torch releases that `check` and `bisect` have made; add some, or
    remove the longest unused.

    `prune` keeps what was used within the last hour, since it may be in use.
    """

    def work() -> shell.CommandResult:
        from reporter.environments import listing

        if asked.action == "add":
            return listing.add(asked.versions, asked.index, asked.backend, options)
        if asked.action == "prune" and not asked.versions:
            return listing.prune(asked.keep)
        if asked.action is None and asked.offered:
            return listing.list_offers(asked.index)
        if asked.action is None:
            return listing.list_environments()
        return listing.refuse(asked.action, asked.versions)

    return shell.finish(options, work)

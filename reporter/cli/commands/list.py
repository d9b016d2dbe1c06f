"""`bugreport list`: the reports of this machine."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("json")
def run_command(options: Options) -> int:
    """List the reports of this machine, the newest first, with their issues and the last check."""

    def work() -> shell.CommandResult:
        from reporter.tracker.overview import build_listing

        return build_listing()

    return shell.finish(options, work)

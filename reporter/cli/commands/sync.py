"""`bugreport sync`: what has become of the filed reports."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("json")
def run_command(options: Options) -> int:
    """Ask the tracker what has become of the filed reports.

    Reads each issue (open or closed, labels), and looks for reports of which it is not known
    whether they arrived or that were filed by hand. Exit code 0 unless no question was answered.
    """

    def work() -> shell.CommandResult:
        from reporter.tracker.overview import sync

        return sync()

    return shell.finish(options, work)

"""`bugreport show`: one report in full."""

from __future__ import annotations

from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("json")
def run_command(
    options: Options,
    report: Annotated[
        str,
        typer.Argument(
            metavar="KEY|REPORT_DIR",
            help="A key of `bugreport list`, or its beginning, or a folder.",
        ),
    ],
) -> int:
    """Show one report: where it lies, its issue, its checks, and every step of its filing."""

    def work() -> shell.CommandResult:
        from reporter.tracker.overview import show

        return show(report)

    return shell.finish(options, work)

"""`bugreport replay`: the recorded call of a report again, without the script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("python", "timeout", "json")
def run_command(
    options: Options,
    report: Annotated[Path, typer.Argument(metavar="REPORT_DIR", help="The report folder.")],
) -> int:
    """Run the recorded call of a report once more, as it was before anything was left out.

    The programs are written to the report's private folder, so that they can be debugged there.
    Exit code 1: the failure shows, 0: it does not, 125: it cannot be told.
    """

    def work() -> shell.CommandResult:
        from reporter.pipeline.replay import replay

        return replay(report, options)

    return shell.finish(options, work)

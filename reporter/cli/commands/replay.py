"""`bugreport replay`: the recorded call of a report again, without the script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.core.setting_sources import resolve
from reporter.core.settings import Options


def command(
    report: Annotated[Path, typer.Argument(metavar="REPORT_DIR", help="The report folder.")],
    python: Annotated[
        str | None,
        typer.Option("--python", metavar="PATH", help="Another interpreter than the recorded one."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="SECONDS", help="Longest that one run may take."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run the recorded call of a report once more, as it was before anything was left out.

    The programs are written to the report's private folder, so that they can be debugged there.
    Exit code 1: the failure shows, 0: it does not, 125: it cannot be told.
    """

    def work() -> shell.CommandResult:
        from reporter.pipeline.replay import replay

        options: Options = resolve(
            {"python": python, "timeout": timeout, "json": json or None}, None, ()
        )
        return replay(report, options)

    return shell.finish(Options(json=json), work)

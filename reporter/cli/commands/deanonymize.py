"""`bugreport deanonymize`: a maintainer's answer in the words of the private model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("json")
def run_command(
    options: Options,
    report: Annotated[Path, typer.Argument(metavar="REPORT_DIR", help="The report folder.")],
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="The text to translate, - for stdin.  [default: stdin]"
        ),
    ] = None,
) -> int:
    """Translate an answer, a patch or a sentence about the public repro back into your own names.

    Reads the mapping in the report's private folder, which never leaves this machine.
    """

    def work() -> shell.CommandResult:
        from reporter.publish.deanonymize import deanonymize

        return deanonymize(report, file)

    return shell.finish(options, work)

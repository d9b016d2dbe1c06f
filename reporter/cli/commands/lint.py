"""`bugreport lint`: what the receiving side would close an issue for, before it is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("template", "json")
def run_command(
    options: Options,
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="A report folder, an issue.md or a repro.py.")
    ],
) -> int:
    """Check an outgoing issue against the rules that the receiving project publishes.

    Exit code 0: clean, 1: there are violations, each with its place and the way out.
    """

    def work() -> shell.CommandResult:
        from reporter.lint.linter import lint
        from reporter.lint.subject import read
        from reporter.publish.form import choose_form

        return lint(read(report, choose_form(options) if options.template else None))

    return shell.finish(options, work)

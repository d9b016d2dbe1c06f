"""`bugreport file`: an issue from a report, exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options(
    "repo",
    "summary",
    "template",
    "labels",
    "assignee",
    "dry_run",
    "web",
    "yes",
    "no_input",
    "keep_source",
    "json",
)
def run_command(
    options: Options,
    report: Annotated[Path, typer.Argument(metavar="REPORT_DIR", help="The report folder.")],
    comment_on: Annotated[
        int | None,
        typer.Option(
            "--comment-on",
            metavar="NUMBER",
            min=1,
            help="Add your environment to this issue instead of filing a new one.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """File a report as an issue of a project on GitHub, exactly once.

    Shows what leaves and issues that look like the same bug, asks for a sentence of your own and
    for a yes, and reads the issue back. With --template the issue is written anew in another form,
    and what was edited in issue.md stays behind. Run it again after any failure: it looks for the
    issue before it sends anything. The token is read from GH_TOKEN or GITHUB_TOKEN, for other hosts
    from GH_ENTERPRISE_TOKEN or GITHUB_ENTERPRISE_TOKEN.
    """

    def work() -> shell.CommandResult:
        from reporter.cli.prompt import Terminal
        from reporter.tracker.filing import check_wanted, file

        user = Terminal(options)
        return file(report, check_wanted(options, user, comment_on), user)

    return shell.finish(options, work)

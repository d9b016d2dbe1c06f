"""`bugreport triage`: an issue that somebody else wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import taking
from reporter.core.settings import Options


@taking("repo", "json", "jobs", "timeout", "memory", "no_input")
def command(
    options: Options,
    issue: Annotated[
        str | None,
        typer.Argument(
            metavar="ISSUE",
            help=(
                "An address, OWNER/REPO#N, a Markdown file, the JSON of `gh issue view`, or - for"
                " stdin."
            ),
            show_default=False,
        ),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(
            "--python",
            metavar="PATH",
            help=(
                "Interpreter to run it with; may be given several times.  [default: as for"
                " diagnose]"
            ),
            show_default=False,
        ),
    ] = None,
    torch: Annotated[
        list[str] | None,
        typer.Option(
            "--torch",
            metavar="V",
            help=(
                "Release to run it on, installed as by `check`: 2.6.0, latest, ...; may be given"
                " several times."
            ),
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not reduce the repro; always so with --search.")
    ] = False,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", metavar="N", min=1, max=20, help="Runs where one run leaves a doubt."
        ),
    ] = 3,
    search: Annotated[
        str | None,
        typer.Option(
            "--search",
            metavar="QUERY",
            help="Triage what this search finds; needs -R.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="How many issues at most.")
    ] = 20,
    comment: Annotated[
        bool, typer.Option("--comment", help="Post the suggested comment, after a yes.")
    ] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run the code without a sandbox, since you have read it."),
    ] = False,
) -> int:
    """Judge an issue that somebody else wrote, and suggest an answer.

    Finds the repro in the issue and its comments, runs it in a sandbox (bubblewrap, no network),
    says whether it fails as stated, which layer is at fault, and for which releases; reduces it and
    looks for duplicates. Nothing is posted without --comment and a yes.
    """

    def work() -> shell.CommandResult:
        from reporter.cli.prompt import Terminal
        from reporter.triage.service import TriageArguments, sit

        paths = tuple(Path(path) for path in python or ())
        asked = TriageArguments(
            issue, paths, quick, runs, search, limit, comment, trust, tuple(torch or ())
        )
        return sit(options, asked, Terminal(options))

    return shell.finish(options, work)

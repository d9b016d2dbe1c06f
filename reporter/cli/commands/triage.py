"""`bugreport triage`: an issue that somebody else wrote."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options
from reporter.triage.arguments import TriageArguments


@declare_options("repo", "json", "jobs", "timeout", "memory", "no_input", own=TriageArguments)
def run_command(options: Options, asked: TriageArguments) -> int:
    """Judge an issue that somebody else wrote, and suggest an answer.

    Finds the repro in the issue and its comments, runs it in a sandbox (bubblewrap, no network),
    says whether it fails as stated, which layer is at fault, and for which releases; reduces it and
    looks for duplicates. Nothing is posted without --comment and a yes.
    """

    def work() -> shell.CommandResult:
        from reporter.cli.prompt import Terminal
        from reporter.triage.service import serve

        return serve(
            asked,
            options.repo,
            usual=options,
            processes=options,
            talk=options,
            user=Terminal(options),
        )

    return shell.finish(options, work)

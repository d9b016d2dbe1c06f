"""`bugreport triage`: an issue that somebody else wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reporter.cli import shell
from reporter.cli.parameters import Parameter, taking
from reporter.core.settings import Options

#: What `triage` alone has: the fields of the groups in `TriageArguments`.
PARAMETERS = (
    Parameter("issue", "", "ISSUE",
        "An address, OWNER/REPO#N, a Markdown file, the JSON of `gh issue view`, or - for stdin."),
    Parameter("pythons", "--python", "PATH",
        "Interpreter to run it with; may be given several times.  [default: as for diagnose]",
        many=True, kind=Path),
    Parameter("torch", "--torch", "V",
        "Release to run it on, installed as by `check`: 2.6.0, latest, ...; may be given several"
        " times.", many=True),
    Parameter("quick", "--quick", None, "Do not reduce the repro; always so with --search."),
    Parameter("runs", "--runs", "N", "Runs where one run leaves a doubt.",
        kind=int, default=3, limits=(1, 20)),
    Parameter("search", "--search", "QUERY", "Triage what this search finds; needs -R."),
    Parameter("limit", "--limit", "N", "How many issues at most.",
        kind=int, default=20, limits=(1, 1000)),
    Parameter("comment", "--comment", None, "Post the suggested comment, after a yes."),
    Parameter("trust", "--trust", None, "Run the code without a sandbox, since you have read it."),
)  # fmt: skip


@taking("repo", "json", "jobs", "timeout", "memory", "no_input", own=PARAMETERS)
def command(options: Options, **words: Any) -> int:
    """Judge an issue that somebody else wrote, and suggest an answer.

    Finds the repro in the issue and its comments, runs it in a sandbox (bubblewrap, no network),
    says whether it fails as stated, which layer is at fault, and for which releases; reduces it and
    looks for duplicates. Nothing is posted without --comment and a yes.
    """

    def work() -> shell.CommandResult:
        from reporter.cli.prompt import Terminal
        from reporter.triage.service import TriageArguments, serve

        return serve(options, TriageArguments.of(words), Terminal(options))

    return shell.finish(options, work)

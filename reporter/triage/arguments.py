"""The command line of `triage`, beside the options that other commands have too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reporter.core.arguments import declare_argument, declare_option, declare_switch


@dataclass(frozen=True)
class TriageArguments:
    """Which issues are judged, where and how often, and what follows."""

    issue: str | None = declare_argument(
        "ISSUE",
        "An address, OWNER/REPO#N, a Markdown file, the JSON of `gh issue view`, or - for stdin.",
        None,
    )
    pythons: tuple[Path, ...] = declare_option(
        "--python",
        "PATH",
        "Interpreter to run it with; may be given several times.  [default: as for diagnose]",
        (),
    )
    torch: tuple[str, ...] = declare_option(
        "--torch",
        "V",
        "Release to run it on, installed as by `check`: 2.6.0, latest, ...; may be given several"
        " times.",
        (),
    )
    quick: bool = declare_switch("--quick", "Do not reduce the repro; always so with --search.")
    runs: int = declare_option("--runs", "N", "Runs where one run leaves a doubt.", 3, (1, 20))
    search: str | None = declare_option(
        "--search", "QUERY", "Triage what this search finds; needs -R."
    )
    limit: int = declare_option("--limit", "N", "How many issues at most.", 20, (1, 1000))
    comment: bool = declare_switch("--comment", "Post the suggested comment, after a yes.")
    trust: bool = declare_switch(
        "--trust", "Run the code without a sandbox, since you have read it."
    )

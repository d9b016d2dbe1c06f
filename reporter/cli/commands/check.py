"""`bugreport check`: does it still fail, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reporter.cli import shell
from reporter.cli.parameters import Parameter, taking
from reporter.core.settings import Options

#: What `check` alone has: the fields of the groups in `CheckArguments`.
PARAMETERS = (
    Parameter("repros", "", "REPRO...",
        "Repro files, report folders, or issues (OWNER/REPO#N).", many=True),
    Parameter("torch", "--torch", "V",
        "A release: 2.6.0, 2.6, latest, nightly, or a wheel; repeatable.", many=True),
    Parameter("python", "--python", "PATH",
        "An interpreter that has a torch; repeatable.", many=True),
    Parameter("all", "--all", None,
        "Every report of the store; a REPRO may be a folder of repros."),
    Parameter("backend", "--torch-backend", "NAME",
        "Build to install: cpu, cu126, ...  [default: what suits the machine]"),
    Parameter("index", "--index", "URL", "Package index of the releases, such as a nightly one."),
    Parameter("fresh", "--fresh", None, "Fresh processes only, no warm workers."),
    Parameter("exit_code", "--exit-code", None,
        "For `git bisect run`: fresh processes, and 125 for another failure."),
    Parameter("skip_known", "--skip-known", None,
        "Leave out what cannot have changed: a release or commit on which it was judged."),
    Parameter("markdown", "--markdown", "FILE", "Write the matrix as Markdown.", kind=Path),
    Parameter("html", "--html", "FILE", "Write the matrix as a page.", kind=Path),
    Parameter("results", "--results", "FILE", "Write the results for `check --merge`.", kind=Path),
    Parameter("shard", "--shard", "I/N", "Do only the I-th of N parts."),
    Parameter("merge", "--merge", None, "REPRO are result files of shards: put them together."),
    Parameter("executor", "--executor", "local|dask", "What runs the checks.", default="local"),
    Parameter("scheduler", "--scheduler", "ADDRESS", "A Dask scheduler, tcp://HOST:PORT."),
    Parameter("comment", "--comment", None, "Tell the issues what has changed, after a yes."),
    Parameter("yes", "--yes", None, "Tell them without asking."),
    Parameter("trust", "--trust", None,
        "Run programs of issues without a sandbox, since you have read them."),
)  # fmt: skip


@taking("json", "jobs", "timeout", "memory", "workers", "no_input", "verbose", own=PARAMETERS)
def command(options: Options, **words: Any) -> int:
    """Check whether repros still fail, on releases that are installed for it or in interpreters at
    hand.

    Exit code 1: something still fails (the same failure or another one); 0: it is gone wherever
    that can be judged; 125: nothing could be judged. Without --torch and --python the usual
    interpreter is used. The program of an issue runs in a sandbox.
    """

    def work() -> shell.CommandResult:
        from reporter.check.command import CheckArguments, run
        from reporter.cli.prompt import Terminal

        return run(CheckArguments.of(words), options, Terminal(options))

    return shell.finish(options, work)

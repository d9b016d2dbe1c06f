"""`bugreport check`: does it still fail, and where."""

from __future__ import annotations

from reporter.check.arguments import CheckArguments
from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.errors import CannotJudgeError
from reporter.core.settings import Options


@declare_options(
    "json", "jobs", "timeout", "memory", "workers", "no_input", "verbose", own=CheckArguments
)
def run_command(options: Options, asked: CheckArguments) -> int:
    """Check whether repros still fail, on releases that are installed for it or in interpreters at
    hand.

    Exit code 1: something still fails (the same failure or another one); 0: it is gone wherever
    that can be judged; 125: nothing could be judged. Without --torch and --python the usual
    interpreter is used. The program of an issue runs in a sandbox. With --exit-code every error
    after the parsing of the command line ends with 125, but for Ctrl-C.
    """

    def work() -> shell.CommandResult:
        from reporter.check.service import serve
        from reporter.cli.prompt import Terminal

        return serve(asked, usual=options, processes=options, talk=options, user=Terminal(options))

    # `git bisect run` would take any other code for a bad commit
    code = CannotJudgeError.exit_code if asked.exit_code else None
    return shell.finish(options, work, error_code=code)

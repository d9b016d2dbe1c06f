"""`bugreport diagnose`: the verdict alone."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options(
    "module",
    "python",
    "json",
    "jobs",
    "timeout",
    "memory",
    "workers",
    "seed",
    "quick",
    "budget",
    "no_input",
    "rungs",
    "verbose",
    "attach",
    script=True,
)
def run_command(options: Options) -> int:
    """Say what is wrong with a script under torch.compile; writes nothing.

    Runs SCRIPT as `python SCRIPT ARGS` would, runs the compiled call that fails once more with each
    layer of the compiler, and says which layer is at fault, or why this is not a bug of the
    compiler. Options go before SCRIPT.
    """

    def work() -> shell.CommandResult:
        from reporter.pipeline.create import diagnose

        return diagnose(options)

    return shell.finish(options, work)

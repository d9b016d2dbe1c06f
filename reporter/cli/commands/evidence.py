"""`bugreport evidence`: torch's own debugging tools on the failing call of a script."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options(
    "module", "python", "output", "json", "timeout", "function", "no_input", "verbose", script=True
)
def run_command(options: Options) -> int:
    """Run torch's own debugging tools on a script's failing compiled call, or on its last one.

    Writes logs with all artifacts, the structured trace, inductor's debug folder, compile times,
    graph breaks and recompilations to a folder. All of it is private: it holds your program.
    """

    def work() -> shell.CommandResult:
        from reporter.pipeline.evidence import collect

        return collect(options, options.function)

    return shell.finish(options, work)

"""`bugreport env`: the Versions block of an issue."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("python", "json")
def run_command(options: Options) -> int:
    """Print the Versions block of an issue for an interpreter.

    Every line comes from a fixed list of facts: no paths, host or user names, and of the installed
    packages only well-known public ones.
    """

    def work() -> shell.CommandResult:
        from reporter.execution.interpreter import find
        from reporter.publish.versions import collect

        return collect(find(options))

    return shell.finish(options, work)

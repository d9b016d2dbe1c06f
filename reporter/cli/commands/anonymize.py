"""`bugreport anonymize`: the whole failing model as public code."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.chain import chain
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options, list_settings


@declare_options(
    *(name for name in list_settings() if name not in ("rungs", "function")), script=True
)
def run_command(options: Options) -> int:
    """Rewrite the whole failing model as public code, and prove that it is the same model.

    Runs SCRIPT as `python SCRIPT ARGS` would, finds the compiled call that fails, and rewrites all
    of its model with stock layers and generic blocks, not reduced. With the private weights the
    rewritten model has to give the same values and gradients by the same operators, and without
    them it has to fail in the same way. Options go before SCRIPT.
    """

    def work() -> shell.CommandResult:
        from reporter.pipeline.create import anonymize

        return anonymize(options)

    return shell.finish(options, chain(options, work))

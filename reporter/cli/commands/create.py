"""`bugreport create`: from a failing script to a report folder."""

from __future__ import annotations

from reporter.cli import shell
from reporter.cli.chain import chain
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options, list_settings


@declare_options(
    *(name for name in list_settings() if name not in ("rungs", "function")), script=True
)
def run_command(options: Options) -> int:
    """Turn a failing script into a minimal, verified, anonymized report folder.

    Runs SCRIPT as `python SCRIPT ARGS` would, finds the compiled call that fails, rebuilds it from
    stock layers and synthetic values, makes it as small as it gets, and shows three times in fresh
    processes that it still fails the same way. Options go before SCRIPT.
    """

    def work() -> shell.CommandResult:
        from reporter.bisect.releases_of_change import name_releases_of_change
        from reporter.check.report_releases import list_installed_ahead, try_releases
        from reporter.environments.background_install import install_in_background
        from reporter.pipeline.create import create

        with install_in_background(list_installed_ahead(options.releases, options)):
            created = create(options)
            result = try_releases(created, options.releases, work=options, talk=options)
            if options.bisect:
                return name_releases_of_change(result, processes=options, talk=options)
            return result

    return shell.finish(options, chain(options, work))

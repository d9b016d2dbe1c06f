"""`bugreport releases`: the cached environments."""

from __future__ import annotations

from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.settings import Options


@declare_options("json", "no_input", "verbose")
def command(
    options: Options,
    action: Annotated[
        str | None,
        typer.Argument(metavar="[add|prune]", help="What to do.  [default: list them]"),
    ] = None,
    versions: Annotated[
        list[str] | None,
        typer.Argument(metavar="V...", help="What to add: versions or wheels.", show_default=False),
    ] = None,
    offered: Annotated[
        bool, typer.Option("--offered", help="List what the index offers for this machine instead.")
    ] = False,
    keep: Annotated[
        float | None,
        typer.Option("--keep", metavar="GIB", help="prune: what may stay.  [default: nothing]"),
    ] = None,
    torch_backend: Annotated[
        str | None,
        typer.Option("--torch-backend", metavar="NAME", help="Build to install: cpu, cu126, ..."),
    ] = None,
    index: Annotated[
        str | None, typer.Option("--index", metavar="URL", help="Package index of the releases.")
    ] = None,
) -> int:
    """List the environments of torch releases that `check` and `bisect` have made; add some, or
    remove the longest unused.

    `prune` keeps what was used within the last hour, since it may be in use.
    """

    def work() -> shell.CommandResult:
        from reporter.environments import listing

        if action == "add":
            return listing.add(tuple(versions or ()), index, torch_backend, options)
        if action == "prune" and not versions:
            return listing.prune(keep)
        if action is None:
            return listing.list_offers(index) if offered else listing.list_environments()
        return listing.refuse(action, tuple(versions or ()))

    return shell.finish(options, work)

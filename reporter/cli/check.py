"""`bugreport check`: does it still fail, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reporter.cli import shell
from reporter.cli.parameters import taking
from reporter.settings import Options

Words = list[str] | None


@taking("json", "jobs", "timeout", "memory", "workers", "no_input", "verbose")
def command(
    options: Options,
    repros: Annotated[
        Words,
        typer.Argument(
            metavar="REPRO...", help="Repro files or report folders.", show_default=False
        ),
    ] = None,
    torch: Annotated[
        Words,
        typer.Option(
            "--torch",
            metavar="V",
            help="A release: 2.6.0, 2.6, latest, nightly, or a wheel; repeatable.",
            show_default=False,
        ),
    ] = None,
    python: Annotated[
        Words,
        typer.Option(
            "--python",
            metavar="PATH",
            help="An interpreter that has a torch; repeatable.",
            show_default=False,
        ),
    ] = None,
    all: Annotated[
        bool,
        typer.Option("--all", help="Every report of the store; a REPRO may be a folder of repros."),
    ] = False,
    torch_backend: Annotated[
        str | None,
        typer.Option(
            "--torch-backend",
            metavar="NAME",
            help="Build to install: cpu, cu126, ...  [default: what suits the machine]",
        ),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            "--index", metavar="URL", help="Package index of the releases, such as a nightly one."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Fresh processes only, no warm workers.")
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write the matrix as Markdown."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the matrix as a page.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FILE", help="Write the results for `check --merge`."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Do only the I-th of N parts.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="REPRO are result files of shards: put them together.")
    ] = False,
    executor: Annotated[
        str, typer.Option("--executor", metavar="local|dask", help="What runs the checks.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, tcp://HOST:PORT."),
    ] = None,
    comment: Annotated[
        bool, typer.Option("--comment", help="Tell the filed issues what has changed.")
    ] = False,
) -> int:
    """Check whether repros still fail, on releases that are installed for it or in interpreters at hand.

    Exit code 1: something still fails (the same failure or another one); 0: it is gone wherever that can be judged; 125:
    nothing could be judged. Without --torch and --python the usual interpreter is used.
    """

    def work() -> shell.Outcome:
        from reporter.releases import command as releases

        asked = releases.Asked(
            repros=tuple(repros or ()),
            torch=tuple(torch or ()),
            python=tuple(python or ()),
            all=all,
            backend=torch_backend,
            index=index,
            fresh=fresh,
            markdown=markdown,
            html=html,
            results=results,
            shard=shard,
            merge=merge,
            executor=executor,
            scheduler=scheduler,
            comment=comment,
        )
        return releases.run(asked, options)

    return shell.finish(options, work)

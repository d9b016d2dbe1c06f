"""`bugreport releases`: what lies in the cache, what it costs, and how to get rid of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.json_values import Json
from reporter.core.progress import open_progress
from reporter.core.settings import TalkOptions
from reporter.core.tokens import remove_logins
from reporter.environments.cache_folder import find_cache_folder
from reporter.environments.environments import IN_USE, CachedEnvironment, Environments
from reporter.environments.index import fetch_offers
from reporter.environments.selection import Selection, select_releases

GIB = 2**30


@dataclass(frozen=True)
class EnvironmentListing:
    """The environments, or what became of them: `lines` for people, `document` for programs."""

    lines: tuple[str, ...]
    document: Json
    exit_code: int = 0

    def to_json(self) -> Json:
        """The document."""
        return {"schema_version": 1, **self.document}

    def summarize(self) -> list[str]:
        """What a person reads."""
        return list(self.lines)


def list_environments() -> EnvironmentListing:
    """Every environment, the longest unused first."""
    environments = Environments(find_cache_folder())
    found = environments.list_all()
    total = environments.measure_size()
    lines = [_render_line(item) for item in found] or ["no environment is cached yet"]
    lines.append(f"{total / GIB:.1f} GiB in {environments.root}")
    rows = [item.to_json() for item in found]
    return EnvironmentListing(
        tuple(lines), {"environments": rows, "size": total, "folder": str(environments.root)}
    )


def _render_line(item: CachedEnvironment) -> str:
    if not item.is_whole:
        return (
            f"{item.name}: unfinished or broken, {item.size / GIB:.1f} GiB; it is made anew when it"
            " is needed"
        )
    days = (time.time() - item.used) / 86400
    return (
        f"torch {item.torch} on Python {item.python}: {item.size / GIB:.1f} GiB, used {days:.0f}"
        " days ago"
    )


def list_offers(index: str | None) -> EnvironmentListing:
    """What an index has for this machine.

    Raises:
        CannotJudgeError: it does not answer.
    """
    found = fetch_offers(index)
    lines = [
        f"{offer.version}: Python {', '.join(f'{a}.{b}' for a, b in offer.pythons)}"
        for offer in found
    ]
    rows = [
        {"version": offer.version, "pythons": offer.pythons, "index": remove_logins(offer.index)}
        for offer in found
    ]
    return EnvironmentListing(tuple(lines) or ("nothing fits this machine",), {"offers": rows})


def add(
    texts: Sequence[str], index: str | None, backend: str | None, talk: TalkOptions
) -> EnvironmentListing:
    """Makes environments, all that can be made.

    Args:
        texts: releases, wheels, or words such as `latest`.
        index: URL of the package index; None: that of pip.
        backend: the build to install, such as `cpu`; None: what suits the machine.
        talk: how what is going on is shown.

    Returns:
        What was made and what was not; exit code 125 if one of them could not be made.

    Raises:
        UsageError: none was named, or a name is no release.
    """
    if not texts:
        raise UsageError("nothing to add; name a release, as in `bugreport releases add 2.6.0`")
    lines, rows, code = [], [], 0
    with open_progress(talk) as progress:
        environments = Environments(find_cache_folder(), progress.note)
        for release in select_releases(Selection(torch=tuple(texts), index=index, backend=backend)):
            try:
                environment = environments.provide(release)
            except CannotJudgeError as error:
                lines.append(str(error))
                rows.append({"release": release.label, "problem": str(error)})
                code = CannotJudgeError.exit_code
                continue
            lines.append(
                f"torch {environment.torch} on Python {environment.version}: {environment.python}"
            )
            rows.append(
                {
                    "release": release.label,
                    "torch": environment.torch,
                    "python": str(environment.python),
                }
            )
    return EnvironmentListing(tuple(lines), {"added": rows}, code)


def provide_interpreters(texts: Sequence[str], talk: TalkOptions) -> list[Path]:
    """The interpreters of releases, installed if need be.

    Raises:
        UsageError: a text is no release.
        CannotJudgeError: one cannot be installed; the first of them.
    """
    if not texts:
        return []
    with open_progress(talk) as progress:
        environments = Environments(find_cache_folder(), progress.note)
        found = select_releases(Selection(torch=tuple(texts)))
        return [environments.provide(release).python for release in found]


def prune(keep: float | None) -> EnvironmentListing:
    """Remove the longest unused until no more than `keep` GiB are left, by default all.

    Raises:
        UsageError: `keep` is negative.
    """
    if keep is not None and keep < 0:
        raise UsageError(f"--keep is {keep:g}, but must be a number of GiB of at least 0")
    environments = Environments(find_cache_folder())
    before = environments.measure_size()
    gone = environments.prune(None if keep is None else int(keep * GIB))
    after = environments.measure_size()
    lines = [f"removed {item.name}" for item in gone]
    lines.append(f"{(before - after) / GIB:.1f} GiB freed, {after / GIB:.1f} GiB left")
    kept = [item for item in environments.list_all() if time.time() - item.used < IN_USE]
    if kept and (keep is None or after > keep * GIB):
        lines.append(f"{len(kept)} used within the last hour and kept")
    return EnvironmentListing(
        tuple(lines),
        {"removed": [item.name for item in gone], "freed": before - after, "size": after},
    )


def refuse(action: str, rest: Sequence[str]) -> NoReturn:
    """Refuses what is neither add nor prune.

    Raises:
        UsageError: always.
    """
    if action == "prune":
        raise UsageError(f"prune takes no {rest[0]!r}; say with --keep GIB how much may stay")
    raise UsageError(
        f"no such action {action!r}; there is `releases`, `releases add V` and `releases prune`"
    )

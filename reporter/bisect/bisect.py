"""`bugreport bisect`: the first release, then the first nightly, that broke or fixed a repro.

Both ends are verified before anything else. Each step compares signatures, so another failure on
the way is no answer but an unknown point, and each answer is that of fresh processes. Every answer
is in the store at once: a search that was killed goes on where it was.
"""

from __future__ import annotations

import contextlib
import shlex
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from reporter.bisect.arguments import BisectArguments
from reporter.bisect.narrowing import PointChecks, Search, SearchedChange, describe
from reporter.bisect.search import find_bracket, find_turns, list_unjudged
from reporter.check import issue_subject, runs
from reporter.check.engine import Engine, open_local
from reporter.check.plan import Plan, add_references
from reporter.check.result_sink import StoredResultSink
from reporter.check.subject import CheckSubject
from reporter.check.work import CheckResult
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.json_values import Json
from reporter.core.progress import Progress, open_progress
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.core.tokens import remove_logins
from reporter.environments import index
from reporter.environments.cache_folder import choose_variables
from reporter.environments.release import (
    Release,
    parse,
    resolve_nightly_index,
    strip_local_part,
)
from reporter.environments.selection import Selection, select_releases
from reporter.execution.interpreter import probe
from reporter.store.database import find_store_path, open_store
from reporter.tracker.preview import Prompt

FOUND, NOTHING = 0, 1
_COMPARE = "https://github.com/pytorch/pytorch/compare/{}...{}"


@dataclass(frozen=True)
class BisectResult:
    """The end of a search: the two neighbors, everything that was asked, and the command that asks
    again.
    """

    subject: CheckSubject
    what: SearchedChange
    before: CheckResult | None
    after: CheckResult | None
    points: tuple[CheckResult, ...]
    unknown: tuple[CheckResult, ...]
    command: str
    reason: str = ""
    remarks: tuple[str, ...] = ()
    code: int = FOUND

    @property
    def exit_code(self) -> int:
        """`FOUND`, or `NOTHING` where `reason` says why."""
        return self.code

    @property
    def compare(self) -> str | None:
        """Where to read what changed between the two builds."""
        if not (self.before and self.after and self.before.git and self.after.git):
            return None
        return _COMPARE.format(self.before.git, self.after.git)

    def to_json(self) -> Json:
        """The document of `bisect --json`."""
        return {
            "schema_version": 1,
            "repro": self.subject.name,
            "what": self.what,
            "found": self.code == FOUND,
            "reason": self.reason,
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
            "between": [check.release for check in self.unknown],
            "compare": self.compare,
            "points": [check.to_json() for check in self.points],
            "remarks": list(self.remarks),
            "command": self.command,
        }

    def summarize(self) -> list[str]:
        """What a person reads at the end."""
        told = [f"  torch {c.exact_torch}: {describe(c)} [{c.seconds:.1f} s]" for c in self.points]
        if self.code != FOUND or self.before is None or self.after is None:
            return [*told, self.reason, *self.remarks, f"again: {self.command}"]
        last, first = (
            ("last bad", "first fixed")
            if self.what == SearchedChange.FIXED
            else ("last good", "first bad")
        )
        told.append(f"{last}:  torch {_build(self.before)}")
        told.append(f"{first}: torch {_build(self.after)}")
        if self.unknown:
            names = ", ".join(check.torch for check in self.unknown)
            told.append(f"between them these could not be judged: {names}")
        told += self.remarks
        if self.compare:
            told.append(f"compare: {self.compare}")
        return [*told, f"again: {self.command}"]


def _build(check: CheckResult) -> str:
    return f"{check.exact_torch} ({check.git})" if check.git else check.exact_torch


def bisect(
    asked: BisectArguments,
    processes: ProcessOptions,
    talk: TalkOptions,
    engine: Engine | None = None,
    user: Prompt | None = None,
) -> BisectResult:
    """Searches for the change, first among releases, then among nightlies where that was asked for.

    Args:
        asked: the repro, the ends, and what is looked for.
        processes: what each run may take: seconds, and GiB.
        engine: performs the checks; None: one of this machine, for this search.
        user: is shown the program of an issue that is to run without a sandbox, and asked.

    Raises:
        UsageError: there is no such repro, or the ends cannot be used.
        CannotJudgeError: the ends or the index cannot be judged, or the code may not run.
        AuthenticationError: an issue cannot be read without a token.
    """
    with open_progress(talk) as progress, open_store() as store, contextlib.ExitStack() as stack:
        named = issue_subject.resolve_subject(asked.repro, asked.trust, user)
        subject = add_references([named], store)[0]
        points = _list_points(asked, subject, store)
        if engine is None:
            engine = stack.enter_context(open_local(processes, progress.note))
        search = _Bisection(asked, processes, engine, store, progress)
        found = search.run(subject, points)
        if found.code != FOUND or not asked.nightly:
            return found
        return search.search_nightlies(found, points)


@dataclass(frozen=True)
class _Bisection:
    """One `bisect`, with what its searches have in common."""

    asked: BisectArguments
    processes: ProcessOptions
    engine: Engine
    store: sqlite3.Connection
    progress: Progress

    def run(
        self, subject: CheckSubject, points: Sequence[Release], known: Sequence[CheckResult] = ()
    ) -> BisectResult:
        """One search among `points`, kept in the store under its own run; `known` was found out
        before.

        Raises:
            UsageError: there are fewer than two points.
            CannotJudgeError: an end of the search cannot be judged.
        """
        if len(points) < 2:
            raise UsageError("a search needs two ends; give --good and --bad, or several --python")
        what = SearchedChange.FIXED if self.asked.find_fix else SearchedChange.BROKE
        jobs, timeout = self.processes.jobs, self.processes.timeout
        plan = Plan((subject,), tuple(points), timeout, fresh=True).identity
        with runs.begin(self.store, find_store_path(), [what, *plan], "bisect") as run:
            keeper = StoredResultSink(self.store, run)
            for check in known:
                keeper.keep(check)
            how = PointChecks(self.engine, keeper, jobs, timeout, self.progress)
            search = Search(subject, points, what, how)
            try:
                reason = search.check_ends()
            except CannotJudgeError:
                runs.finish(self.store, run.id)  # that is an answer; who asks again wants another
                raise
            if not reason:
                search.narrow()
            runs.finish(self.store, run.id)
        return _describe(self.asked, search, reason)

    def search_nightlies(self, found: BisectResult, points: Sequence[Release]) -> BisectResult:
        """The same search between the two neighbors among `points`, in what the nightly index has
        or once had.
        """
        assert found.before is not None and found.after is not None
        place = self.asked.index or resolve_nightly_index(self.asked.backend)
        try:
            listed = index.remember(self.store, index.fetch_offers(place))
        except CannotJudgeError as error:
            return replace(found, remarks=(*found.remarks, f"no search among nightlies: {error}"))
        # the ends are the same environments, and what they showed has been seen
        neighbors = (found.before.release, found.after.release)
        ends = [point for point in points if point.key in neighbors]
        early, late = (strip_local_part(end.label) for end in ends)
        builds = [
            offer.build_release(self.asked.backend)
            for offer in index.select_offers(listed, early, late)
            if Version(offer.version).is_prerelease
            and strip_local_part(offer.version) not in (early, late)
        ]
        if not builds:
            return replace(
                found,
                remarks=(
                    *found.remarks,
                    f"the index {remove_logins(place)} lists no nightly between torch {early} and"
                    f" torch {late}",
                ),
            )
        known = (found.before, found.after)
        finer = self.run(found.subject, [ends[0], *builds, ends[1]], known)
        if finer.code != FOUND:
            return replace(found, remarks=(*found.remarks, f"among nightlies: {finer.reason}"))
        news = tuple(check for check in finer.points if check not in found.points)
        return replace(finer, points=(*found.points, *news), command=found.command)


def _describe(asked: BisectArguments, search: Search, reason: str) -> BisectResult:
    found = find_bracket(search.known) if not reason else None
    checks = search.checks
    remarks = []
    changes = find_turns(search.known)
    if found is not None and len(changes) > 1:
        steps = ", ".join(f"{checks[a].torch} to {checks[b].torch}" for a, b in changes)
        remarks.append(f"it changed more than once ({steps}); this is the last change")
    return BisectResult(
        subject=search.subject,
        what=search.what,
        before=checks[found.before] if found else None,
        after=checks[found.after] if found else None,
        points=tuple(checks[point] for point in sorted(checks)),
        unknown=tuple(checks[point] for point in list_unjudged(search.known)),
        command=_build_command(asked, search),
        reason=reason,
        remarks=tuple(remarks),
        code=NOTHING if reason else FOUND,
    )


def _build_command(asked: BisectArguments, search: Search) -> str:
    """What repeats the search."""
    words = ["bugreport", "bisect", asked.repro]
    for python in asked.python:
        words += ["--python", python]
    if asked.python:
        ends = (("--good", asked.good), ("--bad", asked.bad))
        words += [word for flag, end in ends if end for word in (flag, end)]
    else:
        first, last = search.releases[0].label, search.releases[-1].label
        good, bad = (last, first) if asked.find_fix else (first, last)
        words += ["--good", good, "--bad", bad]
    words += ["--find-fix"] if asked.find_fix else []
    words += ["--index", remove_logins(asked.index)] if asked.index else []
    words += ["--torch-backend", asked.backend] if asked.backend else []
    words += ["--nightly"] if asked.nightly else []
    words += ["--trust"] if asked.trust else []
    return shlex.join(words)


def _sort_ends(good: str, bad: str, asked: BisectArguments) -> tuple[str, str]:
    """The versions of both ends, the older one first.

    Raises:
        UsageError: they are in the wrong order for what is looked for.
    """
    good, bad = _resolve_version(good, asked), _resolve_version(bad, asked)
    early, late = (bad, good) if asked.find_fix else (good, bad)
    if not Version(early) < Version(late):
        wrong, way_out = (
            ("later", "leave out --find-fix")
            if asked.find_fix
            else ("earlier", "add --find-fix to look for a fix")
        )
        raise UsageError(f"--good {good} is not {wrong} than --bad {bad}; {way_out}")
    return early, late


def _list_points(
    asked: BisectArguments, subject: CheckSubject, store: sqlite3.Connection
) -> tuple[Release, ...]:
    """What is searched, oldest first.

    Raises:
        UsageError: the ends are not given, not two, or in the wrong order.
        CannotJudgeError: the index does not answer.
    """
    if asked.python:
        if asked.nightly:
            raise UsageError(
                "--nightly goes on among releases and --python searches interpreters; leave one of"
                " them out"
            )
        return _select_interpreters(asked)
    bad = asked.bad or (strip_local_part(subject.torch) if subject.torch else None)
    if bad is None:
        raise UsageError(
            f"{asked.repro} does not say where it fails; give --bad V, a release in which it does"
        )
    place = asked.index
    if place is None and all(_is_development(end) for end in (asked.good, bad)):
        place = resolve_nightly_index(asked.backend)
    listed = index.fetch_offers(place)
    finals = [offer for offer in listed if not Version(offer.version).is_prerelease]
    good = asked.good
    if good is None:
        if not finals:
            raise UsageError(
                "the index lists no release for this machine to begin the search at; give --good V"
            )
        good = finals[-1].version if asked.find_fix else finals[0].version
    early, late = _sort_ends(good, bad, asked)
    is_fine = any(Version(end).is_prerelease for end in (early, late))
    if is_fine:
        listed = index.remember(store, listed)
    chosen = index.select_offers(listed if is_fine else finals, early, late)
    inner = [
        offer.build_release(asked.backend)
        for offer in chosen
        if strip_local_part(offer.version) not in (strip_local_part(early), strip_local_part(late))
    ]
    ends = [parse(end, asked.index, asked.backend) for end in (early, late)]
    return (ends[0], *inner, ends[1])


def _is_development(text: str | None) -> bool:
    """Whether an end of the search is a nightly build; None: it is not given."""
    if text is None or index.is_word(text):
        return text == "nightly"
    return _parse_version(text).is_devrelease


def _resolve_version(text: str, asked: BisectArguments) -> str:
    if index.is_word(text):
        return index.find(text, asked.index, asked.backend).label
    return str(_parse_version(text))


def _parse_version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UsageError(
            f"{remove_logins(text)!r} is no torch release; give a version such as 2.6.0"
        ) from None


def _select_interpreters(asked: BisectArguments) -> tuple[Release, ...]:
    """The given interpreters, in the order of their torch.

    Raises:
        UsageError: one of them cannot be used, or an end is no version.
    """
    early, late = asked.good, asked.bad
    if asked.find_fix:
        early, late = late, early
    ends = [_parse_version(end) for end in (early, late) if end]
    low, high = min(ends) if early else None, max(ends) if late else None
    found = select_releases(Selection(python=asked.python))
    dated = []
    for release in found:
        assert release.python is not None
        python = Path(release.python)
        info = probe(python, choose_variables(python))
        dated.append((Version(info.torch), release))
    chosen = [release for _, release in sorted(dated, key=lambda pair: pair[0])]
    versions = {release.key: Version(strip_local_part(str(version))) for version, release in dated}
    return tuple(
        release
        for release in chosen
        if (low is None or versions[release.key] >= low)
        and (high is None or versions[release.key] <= high)
    )

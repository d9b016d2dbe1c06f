"""The command `triage`: what is asked for, checked before anything runs, and put together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.settings import InterpreterOptions, ProcessOptions, TalkOptions
from reporter.environments.listing import provide_interpreters
from reporter.execution.interpreter import InterpreterInfo
from reporter.sandbox import bubblewrap
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.preview import Prompt
from reporter.tracker.repository import parse_repository, resolve_issue
from reporter.triage.arguments import TriageArguments
from reporter.triage.attempt import RunLimits
from reporter.triage.batch import TriagedSearch, search
from reporter.triage.posting import post
from reporter.triage.reading.repro_selection import Refusal, Repro, extract
from reporter.triage.reading.thread import LARGEST, Thread, fetch, read_file, read_text
from reporter.triage.result import Triage
from reporter.triage.triage import TriageRequest, probe_interpreters, triage


def serve(
    asked: TriageArguments,
    repo: str | None,
    usual: InterpreterOptions,
    processes: ProcessOptions,
    talk: TalkOptions,
    user: Prompt,
) -> Triage | TriagedSearch:
    """Triages one issue or many.

    Args:
        asked: the options of `triage`: an issue, or a search.
        repo: the project that is searched, as `[HOST/]OWNER/REPO`; None: that of the issue. A
            search needs one.
        usual: the interpreter where neither a release nor an interpreter is named.
        processes: what each run may take: seconds, and GiB.
        user: sees code that runs without a sandbox and the comment, and is asked.

    Raises:
        UsageError: what was asked for does not go together, or cannot be read, or a comment is to
            be posted and nobody can be asked.
        CannotJudgeError: there is no sandbox, and --trust was not given.
        TrackerError, AuthenticationError: the tracker gave no answer, or none to this token.
    """
    _refuse_combinations(asked, repo)
    if asked.comment and not user.is_there:  # before minutes of judging
        raise UsageError(
            "--comment asks before it posts, and nobody can answer here; run it on a terminal"
        )
    service = _TriageService(
        asked,
        repo,
        lambda: _resolve_interpreters(asked, usual, talk),
        RunLimits(processes.timeout, processes.memory, processes.jobs, asked.trust),
        user,
    )
    return service.search() if asked.search is not None else service.judge()


@dataclass(frozen=True)
class _TriageService:
    """One command `triage`: what was asked for, how the interpreters are found where a program is
    to run, what each run may take, and who is told and asked.
    """

    asked: TriageArguments
    repo: str | None
    find_interpreters: Callable[[], tuple[InterpreterInfo, ...]]
    limits: RunLimits
    user: Prompt

    def search(self) -> TriagedSearch:
        """What a search finds."""
        asked = self.asked
        assert asked.search is not None and self.repo is not None
        repository = parse_repository(self.repo)
        wanted = TriageRequest(self.limits, self.find_interpreters(), True, asked.runs)
        with TrackerSession(repository.host, token_needed=False) as session:
            return search(session, repository, asked.search, asked.limit, wanted, self.user)

    def judge(self) -> Triage:
        """The issue that was given, on a tracker or as a text."""
        assert self.asked.issue is not None
        address = resolve_issue(self.asked.issue)
        if address is None:
            return self._judge(_read(self.asked.issue), None)
        comments = self.asked.comment
        with TrackerSession(address.repository.host, token_needed=comments) as session:
            result = self._judge(fetch(session, address), session)
            return post(result, session, self.user) if comments else result

    def _judge(self, thread: Thread, session: TrackerSession | None) -> Triage:
        """One issue; its code is shown before it runs without a sandbox."""
        found = extract(thread)
        # an issue without code is answered anywhere, also where nothing can run
        if isinstance(found, Refusal):
            infos: tuple[InterpreterInfo, ...] = ()
        else:
            show(found, self.user) if self.limits.trust else bubblewrap.find_bwrap()
            infos = self.find_interpreters()
        wanted = TriageRequest(self.limits, infos, self.asked.quick, self.asked.runs)
        repository = parse_repository(self.repo) if self.repo is not None else None
        if repository is not None and (session is None or session.host != repository.host):
            with TrackerSession(repository.host, token_needed=False) as opened:
                return triage(thread, wanted, self.user, opened, repository)
        return triage(thread, wanted, self.user, session, repository)


def _refuse_combinations(asked: TriageArguments, repo: str | None) -> None:
    if (asked.issue is None) == (asked.search is None):
        raise UsageError(
            "give one issue, as in `bugreport triage pytorch/pytorch#123`, or --search QUERY"
            " with -R"
        )
    if asked.search is not None and repo is None:
        raise UsageError("--search needs to know where; give -R OWNER/REPO")
    if asked.search is not None and asked.comment:
        raise UsageError("--comment posts on one issue; leave it out, or give the issue")
    if asked.search is not None and asked.trust:
        raise UsageError("--trust is for code that you have read; give one issue, or leave it out")
    if asked.comment and (asked.issue is None or resolve_issue(asked.issue) is None):
        raise UsageError("--comment needs an issue on a tracker; give its address or OWNER/REPO#N")


def _resolve_interpreters(
    asked: TriageArguments, usual: InterpreterOptions, talk: TalkOptions
) -> tuple[InterpreterInfo, ...]:
    """Where the repro runs: the interpreters of --python, and releases that are installed for it.

    Raises:
        UsageError: one cannot be used.
        CannotJudgeError: one cannot be installed.
    """
    installed = provide_interpreters(asked.torch, talk)
    return probe_interpreters(usual, [*asked.pythons, *installed])


def _read(issue: str) -> Thread:
    if issue == "-":
        return read_text(sys.stdin.buffer.read(LARGEST + 1), "stdin")
    return read_file(Path(issue))


def show(found: Repro, user: Prompt) -> None:
    """Asks once more, with the code and its flags on the screen, where somebody can answer.

    Raises:
        CannotJudgeError: the answer is no.
    """
    for line in ("this runs without a sandbox:", "", *found.text.split("\n")):
        user.say(line)
    for flag in found.flags:
        user.say(f"careful: line {flag.line}: {flag.kind}: {flag.what}")
    if user.is_there and user.choose("run it?", {"y": "yes", "n": "no"}) != "y":
        raise CannotJudgeError("the code was not run; leave --trust out to run it in the sandbox")

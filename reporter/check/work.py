"""A check is a function from plain data to plain data, so it runs here, in another process or on
another machine just the same.

`perform` finds or makes the environment, asks a warm worker, and then as many fresh processes as it
takes to be sure. Whatever goes wrong on the way is a result too (`cannot_judge` with the reason);
only the end of the process is none.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from collectors.protocol.words import Isolation
from reporter.check.issue_subject import judge_issue
from reporter.check.judging import Decision, Observation, decide_from_runs, observe
from reporter.check.pools import Pools
from reporter.check.subject import CheckSubject
from reporter.core.answer import Answer
from reporter.core.errors import CannotJudgeError, DamagedEnvironmentError, UsageError
from reporter.core.formatting import make_printable
from reporter.core.json_values import Json
from reporter.core.kinds import STILL_FAILING, CheckOutcome
from reporter.core.signature import Signature
from reporter.environments.cache_folder import find_cache_folder
from reporter.environments.environments import Environment, Environments
from reporter.environments.release import Release, strip_local_part
from reporter.execution.compiler_cache import is_ready
from reporter.execution.control import describe_control, needs_control, run_control
from reporter.execution.fresh_process import run_cold, stop_all
from reporter.report.sections.base import build_section
from reporter.report.sections.check_document import CheckRow
from reporter.report.sections.verdict import FailureSection
from reporter.sandbox import sandbox as sandbox
from reporter.store.database import format_now
from reporter.triage.attempt import RunLimits


@dataclass(frozen=True)
class Task:
    """One cell of the matrix.

    `expected` is what the place showed the last time. `fresh` asks for fresh processes only; `few`
    says that hardly anything else is checked there, so that a warm-up only pays if there has been
    none yet. `timeout` is in seconds per run. `alike` is what the repro showed in other builds, to
    be taken over by a build from the same commit.
    """

    subject: CheckSubject
    release: Release
    expected: CheckOutcome | None = None
    fresh: bool = False
    few: bool = False
    timeout: float = 300.0
    alike: tuple[CheckResult, ...] = ()

    @property
    def cell(self) -> tuple[str, str]:
        """What the result is known by: the repro's key and the release's."""
        return self.subject.key, self.release.key


class CheckResult(CheckRow, frozen=True):
    """A row of the document, with what is asked of it.

    `torch` is the public version, `build` all of it, `git` its commit; `seconds` is the wall time
    of all runs; `signature` is the failure that was seen; `issue` is the address of the issue that
    the program was taken from; `time` is UTC in ISO 8601.
    """

    @property
    def failure(self) -> Signature | None:
        """The failure that was seen, as failures are compared."""
        return self.signature.to_signature() if self.signature is not None else None

    @property
    def exact_torch(self) -> str:
        """The whole version of torch, as far as it is known."""
        return self.build or self.torch

    @property
    def cell(self) -> tuple[str, str]:
        """The repro's key and the release's."""
        return self.key, self.release


@dataclass
class TaskRunner:
    """What a process needs to perform checks: environments and warm workers. A context manager."""

    environments: Environments
    pools: Pools
    _stopped: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def make_local(
        cls,
        jobs: int = 1,
        memory: float = 4.0,
        isolation: Isolation = "fork",
        say: Callable[[str], None] = lambda _: None,
    ) -> TaskRunner:
        """One on this machine's cache of environments.

        Args:
            jobs: candidates at a time in each interpreter.
            memory: GiB that one candidate may take.
            isolation: how a candidate gets its process from the warm worker.
            say: gets a sentence where an environment has to be made first.
        """
        return cls(Environments(find_cache_folder(), say), Pools(jobs, memory, isolation))

    def __enter__(self) -> TaskRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.pools.close()

    def stop(self) -> None:
        """End what runs, for threads that wait for it; what they then report is not to be
        believed.
        """

        self._stopped.set()
        self.environments.stop()
        self.pools.close()
        stop_all()
        sandbox.stop_all()

    def perform(self, task: Task) -> CheckResult:
        """The result of one cell; raises nothing but what ends the process (Ctrl-C), and
        CancelledError once stopped.
        """
        started = time.monotonic()
        environment: Environment | None = None
        if task.subject.problem:  # which takes no environment to know
            decision = Decision(CheckOutcome.CANNOT_JUDGE, task.subject.problem)
            return build_result(task, None, decision)
        try:
            environment = self.environments.provide(task.release)
            known = _find_same_commit(task, environment)
            if known is not None:
                return known
            try:
                decision = self._decide(task, environment)
            except DamagedEnvironmentError:
                self._refuse_if_stopped()
                # it was fine when it was made: look closely, and try once more
                self.pools.drop(environment.python)
                environment = self.environments.provide(task.release, again=True)
                decision = self._decide(replace(task, fresh=True), environment)
        except (CannotJudgeError, UsageError, OSError) as error:
            self._refuse_if_stopped()  # what was stopped fails somehow
            decision = Decision(CheckOutcome.CANNOT_JUDGE, str(error))
        return build_result(task, environment, decision, time.monotonic() - started)

    def _decide(self, task: Task, environment: Environment) -> Decision:
        """Run until the runs say something.

        Raises:
            DamagedEnvironmentError: nothing can run there.
            CannotJudgeError: the program of an issue has no sandbox.
            CancelledError: this was stopped.
        """
        subject, observations = task.subject, list[Observation]()
        if subject.origin is not None:
            trust = subject.origin.trust
            limits = RunLimits(task.timeout, self.pools.memory, self.pools.jobs, trust)
            return judge_issue(subject, environment.python, limits, self._stopped.is_set)
        skip = task.few and is_ready(self.pools.prepare_warm_cache(environment.python))
        if not (task.fresh or skip or subject.needs_cuda):
            observations.append(self._observe_warm(task, environment))
        while (
            found := decide_from_runs(
                observations, task.expected, subject.seen, subject.wanted is not None
            )
        ) is None:
            self._refuse_if_stopped()
            observations.append(self._observe_cold(task, environment))
        return self._apply_control(task, environment, found)

    def _apply_control(self, task: Task, environment: Environment, found: Decision) -> Decision:
        """The decision, unless the repro fails there without the compiler too."""
        text = task.subject.text
        if found.outcome not in STILL_FAILING or not needs_control(text):
            return found
        python = environment.python
        variables = self.pools.build_variables(python)
        control = run_control(
            python, text, task.timeout, self.pools.prepare_warm_cache(python), variables
        )
        if control.passed:
            return found
        self._refuse_if_stopped()
        return Decision(CheckOutcome.CANNOT_JUDGE, describe_control(control), runs=found.runs)

    def _refuse_if_stopped(self) -> None:
        """Raises CancelledError once stopped: what a process shows that was ended is no answer."""
        if self._stopped.is_set():
            raise CancelledError

    def _observe_warm(self, task: Task, environment: Environment) -> Observation:
        with self.pools.borrow(environment.python) as pool:
            try:
                answer = pool.submit(task.subject.text, task.timeout).result()
            except CannotJudgeError as error:
                raise DamagedEnvironmentError(str(error)) from error
            except (CancelledError, RuntimeError) as error:
                raise DamagedEnvironmentError(
                    f"the worker of torch {environment.label} was stopped"
                ) from error
        return observe(answer, task.subject.wanted, task.timeout, cold=False)

    def _observe_cold(self, task: Task, environment: Environment) -> Observation:
        if not environment.python.exists():
            raise DamagedEnvironmentError(f"the environment of torch {environment.label} is gone")
        answer = run_cold(
            environment.python,
            task.subject.text,
            task.timeout,
            self.pools.build_variables(environment.python),
            describe=True,
            warm_cache=self.pools.prepare_warm_cache(environment.python),
        )
        if _cannot_import_torch(answer):
            said = answer.format_error()[:200]
            raise DamagedEnvironmentError(f"torch {environment.label} cannot be imported ({said})")
        return observe(answer, task.subject.wanted, task.timeout)


def _find_same_commit(task: Task, environment: Environment) -> CheckResult | None:
    """What the repro showed in a build from the same commit, of the same kind and for the same
    Python: it need not run again.
    """

    def read_kind(build: str, python: str) -> tuple[str, str]:
        return build.partition("+")[2], python.rpartition(".")[0]

    for check in task.alike:
        is_same = read_kind(check.build, check.python) == read_kind(
            environment.torch, environment.version
        )
        if environment.git is not None and check.git == environment.git and is_same:
            return msgspec.structs.replace(
                check,
                release=task.release.key,
                torch=strip_local_part(environment.torch),
                build=environment.torch,
                detail=f"built from the commit of torch {check.build}, where it was seen",
                seconds=0.0,
                time=format_now(),
            )
    return None


def _cannot_import_torch(answer: Answer) -> bool:
    """An import failed, and so did telling torch's frames from others, which takes a torch."""
    is_import = answer.exception in ("ImportError", "ModuleNotFoundError", "OSError")
    return is_import and not answer.frames


def build_result(
    task: Task, environment: Environment | None, decision: Decision, seconds: float = 0.0
) -> CheckResult:
    """The result of a task.

    Args:
        environment: None: there is none, so that it never ran.
        seconds: that the runs took.
    """
    build = environment.torch if environment else ""
    return CheckResult(
        # the store and pages take no name that is not UTF-8, nor such words of a program
        repro=make_printable(task.subject.name, None),
        key=task.subject.key,
        release=task.release.key,
        torch=strip_local_part(build) or task.release.label,
        python=environment.version if environment else "",
        outcome=decision.outcome,
        detail=make_printable(decision.detail, None),
        seconds=round(seconds, 2),
        runs=decision.runs,
        build=build,
        git=environment.git if environment else None,
        signature=(
            build_section(FailureSection, decision.signature) if decision.signature else None
        ),
        issue=task.subject.origin.issue if task.subject.origin else "",
        time=format_now(),
    )


_HOME: TaskRunner | None = None
_HOME_LOCK = threading.Lock()


def perform_here(data: Mapping[str, Any], options: Mapping[str, Any]) -> Json:
    """`TaskRunner.perform` for workers of a cluster: JSON in and out, with a runner that the
    process keeps.
    """
    global _HOME
    with _HOME_LOCK:
        if _HOME is None:
            import atexit

            _HOME = TaskRunner.make_local(jobs=os.cpu_count() or 1, **options)
            atexit.register(_HOME.pools.close)
    return _HOME.perform(msgspec.convert(data, Task)).to_json()

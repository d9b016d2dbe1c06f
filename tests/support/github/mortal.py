"""Processes that file or comment, and die by signal 9 where a test says so.

They are forks of a process that has imported the tool and nothing of torch (multiprocessing's fork
server), so a death costs a test little; what happens in them is what happens in the command.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.github.submitter import WORDS, RecordedPrompt
from tests.support.places import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "pytest",
        __name__,
        "reporter.cli.main",
        "reporter.cli.commands.file",
        "reporter.tracker.filing",
        "reporter.check.github_notifier",
    ]
)


class Mortal:
    """A process that runs; its output is in a file."""

    def __init__(
        self, work: Callable[..., int], environment: dict[str, str], output: Path, *words: str
    ) -> None:
        self._output = output
        self._process = _CONTEXT.Process(
            target=_live, args=(work, environment, str(output), words), daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def end(self) -> int:
        """Its exit code, or the negative number of the signal that ended it."""
        self._process.join(300)
        assert self._process.exitcode is not None, "it hangs"
        return self._process.exitcode

    @property
    def output(self) -> str:
        return self._output.read_text()


def _live(
    work: Callable[..., int], environment: dict[str, str], output: str, words: tuple[str, ...]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with open(output, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdin = open(os.devnull)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    code = 70
    try:
        code = work(*words)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def file_until(folder: str, moment: str) -> int:
    """`bugreport file`, which ends before or after a step of the machine is written down, or the
    look or the request itself.

    Args:
        moment: "before:sent", "after:request"; nothing for a process that lives.
    """
    from reporter.cli.main import run
    from reporter.core import tokens
    from reporter.tracker import delivery, posts

    tokens.take()
    when, _, step = moment.partition(":")

    def dying(function: Any, is_meant: Callable[[tuple[Any, ...]], bool]) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if is_meant(args) and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **kwargs)
            if is_meant(args) and when == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return wrapped

    delivery.set_state = dying(delivery.set_state, lambda args: args[3].value == step)
    post: Any = posts.IssuePost
    post.send = dying(post.send, lambda _: step == "request")
    post.look = dying(post.look, lambda _: step == "look")
    words = ["file", folder, "-R", "pytorch/pytorch", "--yes", "--json", "--summary", WORDS]
    return int(run(words))


def announce_fixed(key: str, torch: str) -> int:
    """What `check --comment` does after it has seen that a report no longer fails on a release."""
    from reporter.check.github_notifier import notify_issues
    from tests.support.checking import checked

    check = checked("r", torch, "fixed", key=key, runs=(2, 2))
    notify_issues([check], RecordedPrompt(is_there=False), is_sure=True)
    return 0


def triage_search(python: str) -> int:
    """`bugreport triage --search compile`, with an interpreter for what has to run."""
    from reporter.cli.main import run
    from reporter.core import tokens

    tokens.take()
    words = ["triage", "--search", "compile", "-R", "pytorch/pytorch", "--python", python]
    return int(run([*words, "--json", "--no-input"]))

"""Forks of a process that has run torch: from a fresh thread, whose OpenMP pool is its own."""

from __future__ import annotations

import contextlib
import os
import threading
import traceback
import warnings
from typing import Callable, Iterator, List, NoReturn, Tuple, cast

import torch


def start_autograd() -> None:
    """Has autograd make its threads now, while there is no device that it would make one for; call
    it in a thread that has torch's switches at their defaults.

    Autograd makes one for each device at the first backward pass, and refuses to work in the forks
    of a process that has some (https://github.com/pytorch/pytorch/wiki/Autograd-and-Fork). In torch
    2.15 the compiler's fake tensors register CUDA devices that are not there
    (`torch/_subclasses/fake_tensor.py: FakeTensorMode.__enter__`), so that tracing a backward pass
    before any other makes eight.
    """
    if not torch.cuda.is_available():
        torch.ones((), device="cpu", dtype=torch.float32, requires_grad=True).backward()


def fork_from_fresh_thread(body: Callable[[], None]) -> int:
    """Forks in a new thread; the child runs `body` there and never returns.

    Returns the child's pid.
    """
    pids: List[int] = []
    problems: List[OSError] = []

    def fork_and_run() -> None:
        with contextlib.suppress(Exception):  # what the program has made of torch's functions
            start_autograd()
        try:
            pid = os.fork()
        except OSError as error:  # no memory, or too many processes
            problems.append(error)
            return
        if pid == 0:
            _run_and_exit(body)
        pids.append(pid)

    thread = threading.Thread(target=fork_and_run)
    with _ignore_warnings():
        thread.start()
        thread.join()
    if problems:
        raise problems[0]
    return pids[0]


@contextlib.contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Has warnings ignored, that of Python 3.12 at each fork of a process with threads as well.

    `warnings.catch_warnings` would have the program show once more what it has shown: it says that
    the filters have changed (`_filters_mutated` in Python's warnings.py).
    """
    ours = ("ignore", None, Warning, None, 0)
    filters = cast(List[Tuple[object, ...]], warnings.filters)
    filters.insert(0, ours)
    try:
        yield
    finally:
        if ours in filters:
            filters.remove(ours)


def fork_apart(body: Callable[[], None]) -> None:
    """As `fork_from_fresh_thread`, in a process that is no child of this one: what waits for any
    child of the program must not be told of it.

    Raises:
        OSError: no process could be made.
    """

    def fork_and_leave() -> None:
        if os.fork() == 0:
            _run_and_exit(body)

    pid = fork_from_fresh_thread(fork_and_leave)
    # one that waits for all children, or lets the system do so, may have been faster
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, 0)[1]:
            raise OSError("the copy of the process could not be forked")


def _run_and_exit(body: Callable[[], None]) -> NoReturn:
    """Does what a fork is for, and ends it."""
    status = 1
    try:
        warnings.simplefilter("ignore")
        body()
        status = 0
    except BaseException:  # the parent is told by the exit status
        traceback.print_exc()
    finally:
        os._exit(status)


class WaitingFork:
    """A fork of this moment that does something only if that is wanted later; it ends with this
    process.
    """

    def __init__(self, body: Callable[[], None]) -> None:
        reader, self.writer = os.pipe()

        def wait() -> None:
            os.close(self.writer)
            if os.read(reader, 1):
                body()

        self.pid = fork_from_fresh_thread(wait)
        os.close(reader)

    def run(self) -> bool:
        """Has it done; True if that succeeded."""
        os.write(self.writer, b"!")
        return os.waitpid(self.pid, 0)[1] == 0

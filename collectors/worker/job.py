"""One candidate in flight: how it is ended with all that it started, and what its answer is where
it could not write one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time

from ..protocol.candidates import ANSWER_FILE, CandidateAnswer, CandidateEnding, CandidateRequest
from ..protocol.failure import name_signal, read_tail
from ..protocol.repro_words import CANNOT_JUDGE_HERE, CandidateOutcome
from .slot import Slot


class Job:
    """One candidate in flight. `lock` guards `pid` against being killed after it was reaped."""

    def __init__(self, request: CandidateRequest, slot: Slot) -> None:
        self.request = request
        self.slot = slot
        self.lock = threading.Lock()
        #: A spawned one is kept until it is reaped here: `subprocess` reaps what nobody refers to.
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        #: As `os.wait4` gives it; None until it was reaped, and where that never came.
        self.status: int | None = None
        #: Why it could not be started or waited for.
        self.start_error = ""
        self.reaped = False
        self.started = time.time()
        #: When it is killed, and looked at again.
        self.deadline = 0.0
        self.seconds = 0.0
        self.cpu = 0.0
        self.announced = False
        self.timed_out = False
        self.cancelled = False

    def begin(self, pid: int) -> None:
        """Its time runs from now on, as process `pid`."""
        self.started = time.time()
        self.deadline = self.started + self.request["timeout"]
        self.pid = pid  # at last: with it the other thread has it as running

    def kill(self) -> None:
        """Kills its process group, from any thread; nothing where it has ended."""
        with self.lock:
            if self.pid and not self.reaped:
                kill_group(self.pid)

    def reap(self) -> None:
        """Wait for the end of the whole group."""
        end_group(self.pid)
        with self.lock:
            _, status, used = os.wait4(self.pid, 0)
            self.status = status
            self.cpu = used.ru_utime + used.ru_stime
            if self.process is not None:
                self.process.returncode = os.waitstatus_to_exitcode(status)
            self.reaped = True
        self.seconds = time.time() - self.started


def end_group(pid: int) -> None:
    """Wait until the child `pid` has ended, and kill what it has started and left behind; its
    status is still to be read.

    A group is killed while its leader holds its id: afterwards it may be somebody else's.
    """
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        kill_group(pid)


def kill_group(pid: int) -> None:
    """SIGKILL for the group of `pid`, or for `pid` alone while it has not made its group
    yet.
    """
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
            return
        except OSError:
            continue


def read_answer(job: Job) -> CandidateAnswer:
    """What the candidate wrote, or what its exit status says where it could not write; without a
    status nothing in its folder is its own.
    """
    out = os.path.join(job.slot.folder, "out")
    answer: CandidateAnswer = {
        "failure": None,
        "signal": None,
        "detail": "",
        **((job.status is not None and _read_written(out)) or _describe_ending(job)),
        "id": job.request["id"],
        "stdout": read_tail(os.path.join(out, "stdout")),
        "stderr": read_tail(os.path.join(out, "stderr")),
        "seconds": round(job.seconds, 3),
        "cpu": round(job.cpu, 3),
    }
    signalled = job.status is not None and os.WIFSIGNALED(job.status)
    if signalled and job.timed_out:
        answer.update({"outcome": CandidateOutcome.TIMEOUT, "failure": None, "signal": None})
    elif (
        signalled and answer["outcome"] == CandidateOutcome.PASSES
    ):  # it crashed while the interpreter shut down
        answer = {**answer, **_describe_ending(job)}
    if job.cancelled:
        answer.update({"outcome": CandidateOutcome.CANCELLED, "failure": None})
    if answer["outcome"] in (CandidateOutcome.DIED, CandidateOutcome.TIMEOUT):
        answer["detail"] = read_tail(os.path.join(out, "stack")) or answer["detail"]
    return answer


def _read_written(out: str) -> CandidateEnding | None:
    """The candidate's own answer; None if it did not get that far."""
    try:
        with open(os.path.join(out, ANSWER_FILE), encoding="utf-8") as file:
            ending: CandidateEnding = json.load(file)
    except (OSError, ValueError):
        return None
    return ending


def _describe_ending(job: Job) -> CandidateEnding:
    if job.status is None:
        return {
            "outcome": CandidateOutcome.CANNOT_JUDGE,
            "exit": CANNOT_JUDGE_HERE,
            "detail": job.start_error,
        }
    if os.WIFSIGNALED(job.status):
        number = os.WTERMSIG(job.status)
        return {"outcome": CandidateOutcome.DIED, "signal": name_signal(number), "exit": -number}
    code = os.WEXITSTATUS(job.status)
    outcomes = {
        0: CandidateOutcome.PASSES,
        CANNOT_JUDGE_HERE: CandidateOutcome.CANNOT_JUDGE,
    }
    return {"outcome": outcomes.get(code, CandidateOutcome.DIED), "exit": code}

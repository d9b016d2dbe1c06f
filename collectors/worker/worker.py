"""The warm process that runs candidates: import torch and compile once, then one fork per
candidate.

A fork of a process that has compiled before costs what compiling in-process costs, yet survives
crashes, hangs and leaked state. Two things make it safe. The fork happens on a *fresh thread*:
libgomp keeps its pool per thread, so the child builds a new one instead of waiting for threads
that were not copied, and keeps the full number of threads, on which some bugs depend. And nothing
but speed is shared between candidates: each of the places ("slots") in which they run has a
compiler cache of its own, from which everything an aborted candidate touched is deleted.

A process that has used a GPU cannot use it in its forks. Where candidates compute on one, the warm
process has imported everything and compiled nothing, and each fork uses the GPU for itself.

Where fork is unsafe (macOS) each candidate gets a fresh process of the same interpreter,
started in advance so that it is as warm by the time it is needed: the same time limits hold.

One JSON line per message: requests and `{"cancel": id}` come in; `{"ready": …}`, `{"id",
"pid"}` at a start and the answer at the end go out. The end of the request pipe ends the worker
and everything it runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import queue
import resource
import select
import subprocess
import sys
import threading
import time
import warnings
from typing import Any, get_args

from .. import FOLDER
from ..machine.processes import die_with_parent
from ..protocol.candidates import CancelRequest, CandidateRequest, WorkerMessage, WorkerRequest
from ..protocol.repro_words import CandidateOutcome
from ..protocol.words import Isolation
from . import candidate, preloaded_process
from .job import Job, kill_group, read_answer
from .slot import Slot
from .warm_up import IMPORT, begin_device, settle, warm_up

#: A process that ended like this may have left what it was writing half done.
_CUT_OFF = (CandidateOutcome.DIED, CandidateOutcome.TIMEOUT, CandidateOutcome.CANCELLED)


class Worker:
    """Takes requests from one pipe, runs each in its own process, answers on another pipe."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.free: list[Slot] = []
        self.published: list[str] = []
        self.slots = 0
        self.jobs: dict[int, Job] = {}
        self.done: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self.wake_read, self.wake_write = os.pipe()
        self.buffer = b""

    def serve(self) -> int:
        """Run until the request pipe ends."""
        started = time.time()
        warmed = warm_up(self.options.warm_backend)
        gc.collect()
        gc.freeze()
        seconds, cpu = round(time.time() - started, 2), round(_measure_processor_seconds(), 2)
        self.send({"ready": {"warm": warmed, "seconds": seconds, "cpu": cpu}})
        try:
            while self._step():
                pass
        except BrokenPipeError:
            pass
        finally:
            for job in self.jobs.values():
                job.kill()
            for slot in self.free:
                if slot.prepared is not None:
                    kill_group(slot.prepared.pid)
        return 0

    def send(self, message: WorkerMessage) -> None:
        """Writes a message as one line, however many writes the pipe wants."""
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.options.answers, data) :]

    def _step(self) -> bool:
        for job in self.jobs.values():
            if job.pid and not job.announced:
                job.announced = True
                self.send({"id": job.request["id"], "pid": job.pid})
                self._prepare(job.slot)
        now = time.time()
        ends = [job.deadline for job in self.jobs.values() if job.pid]
        wait = max(0.0, min(ends) - now) if ends else None
        ready = select.select([self.options.requests, self.wake_read], [], [], wait)[0]
        if self.wake_read in ready:
            os.read(self.wake_read, 4096)
        while not self.done.empty():
            self._finish(self.done.get())
        for job in self.jobs.values():
            if job.pid and time.time() >= job.deadline:
                job.timed_out = True
                job.kill()
                job.deadline += 5.0  # ask again only if the kill did not end it
        if self.options.requests not in ready:
            return True
        data = os.read(self.options.requests, 1 << 16)
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            message: WorkerRequest = json.loads(line)
            if "cancel" in message:
                self._cancel(message)
            else:
                self._begin_candidate(message)
        return bool(data)

    def _cancel(self, message: CancelRequest) -> None:
        job = self.jobs.get(message["cancel"])
        if job is not None:
            job.cancelled = True
            job.kill()

    def _begin_candidate(self, message: CandidateRequest) -> None:
        if self.free:
            slot = self.free.pop()
        else:
            slot = Slot(os.path.join(self.options.workdir, f"slot{self.slots}"))
            self.slots += 1
            warm = os.environ.get("TORCHINDUCTOR_CACHE_DIR", "")
            slot.link_prefix(warm)
            if self.options.isolation == "spawn":
                slot.fill(warm)
        self._prepare(slot)
        job = Job(message, slot)
        self.jobs[message["id"]] = job
        ready, start = threading.Event(), self._fork
        if self.options.isolation != "fork":
            start = self._spawn
            ready.set()  # nothing is forked, and the import it may wait for takes seconds
        threading.Thread(target=self._watch, args=(job, start, ready), daemon=True).start()
        ready.wait()  # nothing else may hold a lock while another thread forks

    def _watch(self, job: Job, start: Any, ready: threading.Event) -> None:
        """The fresh thread: starts the candidate and stays until its end, for which PDEATHSIG needs
        it.
        """
        try:
            start(job)
            ready.set()
            if job.cancelled:
                job.kill()
            job.reap()
        except Exception as error:  # whatever it is, the candidate has not shown anything
            job.start_error = str(error) or type(error).__name__
        finally:
            ready.set()
            self.done.put(job)
            os.write(self.wake_write, b".")

    def _fork(self, job: Job) -> None:
        parent = os.getpid()
        job.slot.clear()
        job.slot.borrow(self.published)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            code = 70
            try:
                for number in (
                    self.options.requests,
                    self.options.answers,
                    self.wake_read,
                    self.wake_write,
                ):
                    os.close(number)
                die_with_parent(parent)
                candidate.enter_cache(job.slot.cache)
                if self.options.warm_backend == IMPORT:
                    begin_device()  # what it maps is no memory of the candidate
                candidate.isolate(job.slot.folder, self.options.memory)
                settle(job.request["text"])
                code = candidate.run(job.request, job.slot.folder)
            finally:
                os._exit(code)
        job.begin(pid)

    def _spawn(self, job: Job) -> None:
        """Hand the request to the slot's waiting process."""
        process, job.slot.prepared = job.slot.prepared, None
        assert process is not None and process.stdin is not None and process.stdout is not None
        process.stdout.read(1)  # it is warm; the clock starts now
        job.slot.clear()
        job.slot.borrow(self.published)
        job.process = process
        job.begin(process.pid)
        process.stdin.write(json.dumps(job.request).encode() + b"\n")
        process.stdin.close()
        os.write(self.wake_write, b".")

    def _prepare(self, slot: Slot) -> None:
        """Start the process for the next request of `slot` where each needs a fresh one. Called
        on the main thread alone: a process with PDEATHSIG dies with the *thread* that started it.
        """
        if self.options.isolation == "fork" or slot.prepared is not None:
            return
        main = os.path.join(FOLDER, "entry", "worker_main.py")
        command = [
            sys.executable,
            main,
            "once",
            "--folder",
            slot.folder,
            "--warm-backend",
            self.options.warm_backend,
        ]
        command += ["--memory", str(self.options.memory)]
        environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=slot.cache)
        slot.prepared = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )

    def _finish(self, job: Job) -> None:
        del self.jobs[job.request["id"]]
        answer = read_answer(job)
        if answer["outcome"] in _CUT_OFF:
            job.slot.purge(job.started)
        else:
            self.published += job.slot.find_produced(job.started)
        self.free.append(job.slot)
        self.send(answer)


def _measure_processor_seconds() -> float:
    """What this process and the ones that it has waited for have used."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _run_once(options: argparse.Namespace) -> int:
    """Run the one request on stdin in this process, which ends as an ordinary interpreter does, or
    with its host.
    """
    die_with_parent(os.getppid())
    if options.warm_backend:
        import torch._inductor.compile_fx  # noqa: F401 - the slow half of a first compilation

        begin_device()
    os.write(1, b".")
    line = sys.stdin.readline()
    if not line:
        return 0
    candidate.isolate(options.folder, options.memory)
    request = json.loads(line)
    if options.warm_backend:
        settle(request["text"])
    code = candidate.run(request, options.folder)
    if options.warm_backend:
        # as a fork does: taking a whole torch down takes seconds, and the answer is written
        os._exit(code)
    return code


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line of `worker_main.py`, whose docstring shows it."""
    parser = argparse.ArgumentParser(prog="worker_main.py")
    modes = parser.add_subparsers(dest="mode", required=True)
    serve = modes.add_parser("serve")
    serve.add_argument("--requests", type=int, required=True)
    serve.add_argument("--answers", type=int, required=True)
    serve.add_argument("--workdir", required=True)
    serve.add_argument("--isolation", choices=get_args(Isolation), default="fork")
    single = modes.add_parser("once")
    single.add_argument("--folder", required=True)
    forks = modes.add_parser("preloaded")
    forks.add_argument("--socket", required=True)
    forks.add_argument("--inductor", action="store_true")
    for mode in (serve, single):
        mode.add_argument("--warm-backend", default="")
        mode.add_argument("--memory", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run a single request, or serve until the host goes away; then there is no return, since the
    host waits and taking a whole torch down takes seconds.
    """
    options = parse(arguments)
    if options.mode == "once":
        return _run_once(options)
    if options.mode == "preloaded":
        os._exit(preloaded_process.serve(options.socket, options.inductor))
    os.set_inheritable(options.requests, False)
    os.set_inheritable(options.answers, False)
    os._exit(Worker(options).serve())

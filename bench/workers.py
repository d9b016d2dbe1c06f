"""Candidates per second: warm workers against those that have only imported the compiler, and
against cold processes, the same texts in the same run.

    python bench/workers.py [--python PYTHON] [--jobs N] [--candidates N]

Each candidate is a different small program, so nothing is answered from a cache; the start of the
warm worker is printed on its own and counted in no rate.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reporter.core.answer import Answer
from reporter.execution.fresh_process import run_cold
from reporter.execution.worker_pool import WorkerPool, WorkerSettings

TEXT = """
import torch

def repro(x):
    return torch.softmax(x * {0}, -1).relu() + {0}

def main():
    x = torch.ones(8, {1})
    assert torch.allclose(torch.compile(repro{2})(x), repro(x)), "wrong result: output 0"

if __name__ == "__main__":
    main()
"""


def measure(run: Callable[[str], Future[Answer]], texts: list[str]) -> float:
    """Candidates per second; raises RuntimeError when a candidate does not pass."""
    started = time.monotonic()
    answers = [future.result() for future in [run(text) for text in texts]]
    if bad := [answer for answer in answers if answer.outcome != "passes"]:
        raise RuntimeError(f"a candidate did not pass: {bad[0]}")
    return len(texts) / (time.monotonic() - started)


def _run_cold(threads: ThreadPoolExecutor, python: Path, text: str) -> Future[Answer]:
    return threads.submit(run_cold, python, text, 600.0)


def main() -> None:
    """Measure and print one row per backend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--candidates", type=int, default=8)
    options = parser.parse_args()
    print(f"{options.jobs} jobs, {options.candidates} candidates each way")
    print(
        f"{'backend':<12}{'start s':>9}{'warm /s':>9}{'imported /s':>13}{'cold /s':>9}  warm over both"
    )
    with tempfile.TemporaryDirectory() as folder:
        for number, backend in enumerate(("inductor", "aot_eager")):
            argument = f", backend={backend!r}"
            texts = [TEXT.format(n + 2, 16 * (n + 1), argument) for n in range(options.candidates)]
            work = Path(folder) / str(number)
            with WorkerPool(options.python, options.jobs, os.environ, work) as pool:
                started = time.monotonic()
                pool.submit("pass").result()
                start = time.monotonic() - started
                warm = measure(partial(pool.submit, timeout=600.0), texts)
            plain = WorkerSettings(warm_backend=None)
            with WorkerPool(
                options.python, options.jobs, os.environ, work / "plain", plain
            ) as pool:
                pool.submit("pass").result()
                imported = measure(partial(pool.submit, timeout=600.0), texts)
            with ThreadPoolExecutor(options.jobs) as threads:
                cold = measure(partial(_run_cold, threads, options.python), texts)
            print(
                f"{backend:<12}{start:>9.1f}{warm:>9.2f}{imported:>13.2f}{cold:>9.2f}"
                f"{warm / imported:>7.1f}x{warm / cold:>7.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()

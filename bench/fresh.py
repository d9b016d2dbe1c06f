"""Seconds of a fresh process: really cold, with the toolchain checks of a warm-up, and as a fork of
a preloaded process.

    python bench/fresh.py [--python PYTHON] [--rounds N]

All run the same small text, compiled by inductor, in an empty folder with an empty cache; no kernel
is lent to any. The first kind makes the checks for vector units and compiles torch's headers, the
others use those of the warm-up, which is counted apart. Rounds are interleaved; a row has the
median, and what that is of the first row.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from collectors.protocol.candidates import CandidateRequest
from reporter.execution.fresh_process import run_fresh
from reporter.execution.preloaded_process import PreloadedProcess
from reporter.execution.worker_pool import WorkerPool, WorkerSettings

TEXT = """
import torch

def fn(x):
    return torch.softmax(x * 3, -1).relu()

x = torch.ones(8, 16)
torch.testing.assert_close(torch.compile(fn)(x), fn(x))
"""


def main() -> None:
    """Measure and print a row for each kind of process; RuntimeError where the text fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    python: Path = options.python
    request: CandidateRequest = {"id": 0, "text": TEXT, "timeout": 600.0}
    with tempfile.TemporaryDirectory() as name:
        warm_cache = Path(name) / "warm"
        settings = WorkerSettings(warm_cache=warm_cache)
        started = time.monotonic()
        with WorkerPool(python, 1, os.environ, Path(name) / "work", settings) as pool:
            pool.submit("pass").result()
        print(f"the warm-up: {time.monotonic() - started:.1f} s")
        with PreloadedProcess(python, warm_cache) as preloaded:
            preloaded.start(inductor=True)
            run_fresh(preloaded, {**request, "text": "pass"}, warm_cache)  # it has imported torch
            kinds: dict[str, tuple[Path | PreloadedProcess, Path | None]] = {
                "cold, nothing lent": (python, None),
                "cold, with the checks": (python, warm_cache),
                "fork, with the checks": (preloaded, warm_cache),
            }
            seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
            for _ in range(options.rounds):
                for kind, (by, lent) in kinds.items():
                    started = time.monotonic()
                    answer = run_fresh(by, request, lent).answer
                    seconds[kind].append(time.monotonic() - started)
                    if answer.outcome != "passes":
                        raise RuntimeError(f"{kind} did not pass: {answer}")
    first = statistics.median(next(iter(seconds.values())))
    for kind, values in seconds.items():
        median = statistics.median(values)
        print(f"{kind:24}{median:7.1f} s{median / first:7.2f} x")


if __name__ == "__main__":
    main()

"""What `bugreport.watch` costs a training loop that passes: alone, hooked, and compared every 100th
and every 10th step, side by side.

Usage: python bench/watching.py [INTERPRETER] (default: this one; it needs torch).
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from reporter.execution.launch import COLLECTORS

SCRIPT = """
import resource, sys, time
if sys.argv[1] != "alone":
    import bugreport
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512))
fast = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), 0.01)
def step():
    loss = fast(torch.randn(64, 512)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
step()
if sys.argv[1] not in ("alone", "hooked"):
    bugreport.watch(every=int(sys.argv[1]))
started, longest = time.perf_counter(), 0.0
for _ in range(600):
    before = time.perf_counter()
    step()
    longest = max(longest, time.perf_counter() - before)
seconds = time.perf_counter() - started
print(seconds, longest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
WAYS = ("alone", "hooked", "100", "10")
ROUNDS = 3


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    environment = {
        **os.environ,
        "PYTHONPATH": str(COLLECTORS / "hook"),
        "BUGREPORT_COMMAND": shlex.join([sys.executable, "-m", "reporter"]),
    }
    measured: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "script.py"
        script.write_text(SCRIPT)
        for _ in range(ROUNDS):
            for way in WAYS:
                done = subprocess.run(
                    [python, script, way],
                    env=environment,
                    check=True,
                    capture_output=True,
                    text=True,
                )
                measured[way].append([float(word) for word in done.stdout.split()])
    medians = {
        way: [statistics.median(column) for column in zip(*rows)] for way, rows in measured.items()
    }
    alone = medians["alone"][0]
    print(f"600 training steps, median of {ROUNDS}; memory is that of the program itself")
    for way, (seconds, longest, memory) in medians.items():
        label = way if not way.isdigit() else f"every {way}th"
        print(
            f"{label:12} {seconds:6.2f} s  ratio {seconds / alone:.2f}"
            f"  longest step {longest:.2f} s  {memory:.0f} MiB"
        )


if __name__ == "__main__":
    main()

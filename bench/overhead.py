"""What watching costs: a passing training script alone and under the recorder, in turn, with the
ratio.

Usage: python bench/overhead.py [INTERPRETER] (default: this one; it needs torch).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions

SCRIPT = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256))
fast = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for step in range(60):
    loss = fast(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ROUNDS = 3


def main() -> None:
    python = Path(sys.argv[1] if len(sys.argv) > 1 else sys.executable)
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "script.py"
        script.write_text(SCRIPT)
        alone, watched, overhead = [], [], []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            subprocess.run([python, script], check=True)
            alone.append(time.perf_counter() - started)
            program = WatchedProgram(python, (str(script),), Path(name), Path(name) / "cache")
            session = RecordingSession(program, WatchOptions(300), talk=print)
            recording = session.run()
            assert (
                recording.script.exit == 0 and recording.counts.calls == 60
            ), recording.script.output
            watched.append(recording.script.seconds)
            overhead.append(recording.script.overhead)
            recording.close()
    one, two = statistics.median(alone), statistics.median(watched)
    print(f"60 training steps, median of {ROUNDS}: alone {one:.2f} s, watched {two:.2f} s")
    print(
        f"ratio {two / one:.2f}; of which waiting for the host {statistics.median(overhead):.2f} s"
    )


if __name__ == "__main__":
    main()

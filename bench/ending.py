"""Seconds from a script's last statement to the end of `diagnose`, for scripts without a finding.

    python bench/ending.py [PYTHON] [--rounds N]

The scripts compile nothing; compile one function, which is right; and do the same, then raise an
exception of their own, so that they run once more without the compiler. Each notes the time of its
last statement. Rounds are interleaved; a row has the median, and what that is of the first row.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
import os, time
import torch
"""
COMPILE = """\
def double(x):
    return x * 2 + 1
assert torch.equal(torch.compile(double)(torch.ones(8)), torch.full((8,), 3.0))
"""
#: A second run keeps the time of the first.
NOTE = """\
if not os.path.exists(os.environ["NOTE"]):
    with open(os.environ["NOTE"], "w") as note:
        note.write(repr(time.time()))
"""
SCRIPTS = {
    "compiles nothing": HEAD + NOTE,
    "compiles one function": HEAD + COMPILE + NOTE,
    "compiles one, then raises KeyError": HEAD + COMPILE + NOTE + 'raise KeyError("end")\n',
}


def measure(script: str, python: Path) -> float:
    """Seconds from the script's last statement to the end of the command."""
    with tempfile.TemporaryDirectory() as name:
        path, note = Path(name) / "script.py", Path(name) / "note"
        path.write_text(script)
        command = [sys.executable, "-m", "reporter", "diagnose", "--json", "--no-input"]
        environment = {**os.environ, "NOTE": str(note), "PYTHONPATH": str(ROOT)}
        environment["TORCHINDUCTOR_CACHE_DIR"] = f"{name}/cache"
        subprocess.run(
            [*command, "--python", str(python), str(path)],
            env=environment,
            capture_output=True,
            timeout=600,
        )
        return time.time() - float(note.read_text())


def main() -> None:
    """Prints a row for each script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", type=Path, nargs="?", default=Path(sys.executable))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in SCRIPTS}
    for _ in range(options.rounds):
        for name, script in SCRIPTS.items():
            seconds[name].append(measure(script, options.python))
    first = statistics.median(next(iter(seconds.values())))
    for name, values in seconds.items():
        median = statistics.median(values)
        print(f"{name:36}{median:7.1f} s{median / first:7.1f} x")


if __name__ == "__main__":
    main()

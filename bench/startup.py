"""Start-up of the command against `python -c pass`: medians of interleaved runs, and their ratio.

The goal: `bugreport --help` stays under 150 ms over an interpreter that does nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 21
GOAL_MS = 150.0
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "bugreport --help": ["-m", "reporter", "--help"],
    "bugreport create --help": ["-m", "reporter", "create", "--help"],
}


def time_run(arguments: list[str]) -> float:
    """Wall time of one run of this interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Measure, print a table, and say whether the goal is met."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for arguments in COMMANDS.values():
        time_run(arguments)  # fills the bytecode and disk caches
    # Interleaved, so that a busy moment of the machine hits all commands alike.
    for _ in range(RUNS):
        for name, arguments in COMMANDS.items():
            times[name].append(time_run(arguments))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians["python -c pass"]
    for name, median in medians.items():
        print(f"{name:<26}{median:8.1f} ms{median - base:+8.1f} ms{median / base:7.2f} x")
    over = medians["bugreport --help"] - base
    word = "met" if over < GOAL_MS else "missed"
    print(f"goal of {GOAL_MS:g} ms over python -c pass: {word} ({over:.0f} ms)")


if __name__ == "__main__":
    main()

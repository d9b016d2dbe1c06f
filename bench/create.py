"""Where the time of `create` goes, beside a plain run of each script.

    python bench/create.py [PYTHON [SCRIPT…]] [--before CHECKOUT]

Each SCRIPT (a folder's script.py; without any, the example) runs plainly under PYTHON with an empty
compiler cache, and then through `create`; with `--before`, through that of another checkout as
well, in turn. A row has wall seconds: the plain run, the verdict (all stages until it is known),
the whole; and the whole over the recorded run of the script. Last come the medians, and what each
stage took of processor time. A script takes two or three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Stages that come before a verdict is on the screen.
UNTIL_VERDICT = ("start", "record", "diagnose")
#: Seconds for one run.
LIMIT = 1800.0
EXAMPLE = "receipt_scanner.py"


@dataclass(frozen=True)
class Created:
    """One `create`: wall seconds of the whole, and its report.json."""

    seconds: float
    document: dict[str, Any]

    def sum_wall(self, *stages: str) -> float:
        """Wall seconds of stages; a checkout before schema version 2 told no more than these."""
        timing = self.document.get("timing") or {}
        rows = [timing[name] for name in stages if name in timing]
        return sum(float(row["wall"] if isinstance(row, dict) else row) for row in rows)

    @property
    def recorded(self) -> float:
        """Wall seconds of the script's recorded run."""
        return self.sum_wall("record") or self.sum_wall("script") or float("nan")

    def render(self, plain: float) -> str:
        """The row's part about it."""
        verdict = self.document.get("verdict") or {"kind": "no answer"}
        repro = self.document.get("repro") or {}
        return (
            f"{verdict['kind']:18.18} {repro.get('statements', 0):2} ops {repro.get('lines', 0):3}"
            f" lines  verdict {self.sum_wall(*UNTIL_VERDICT):5.1f} s  whole {self.seconds:5.1f} s"
            f" = {self.seconds / plain:4.1f} x plain,"
            f" {self.seconds / self.recorded:4.1f} x recorded"
        )


def run_plain(script: Path, python: Path) -> float:
    """Wall seconds of the script by itself."""
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache}
        subprocess.run([python, script], env=environment, capture_output=True, timeout=LIMIT)
        return time.perf_counter() - started


def run_create(script: Path, python: Path, checkout: Path) -> Created:
    """`create` of a checkout, without other releases."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "reporter", "create", "--json", "--no-input"]
        command += ["--releases", "none", "--python", str(python)]
        command += ["-o", f"{folder}/report", str(script)]
        started = time.perf_counter()
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=LIMIT)
        seconds = time.perf_counter() - started
    try:
        return Created(seconds, json.loads(done.stdout))
    except ValueError:
        return Created(seconds, {})


def main() -> int:
    """Prints the table; exit code 1 where a run gave no verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", type=Path, nargs="?", default=Path(sys.executable))
    parser.add_argument("scripts", type=Path, nargs="*", default=[ROOT / "examples" / EXAMPLE])
    parser.add_argument("--before", type=Path, help="another checkout of the tool")
    options = parser.parse_args()
    # `create` of another checkout runs in that folder
    options.python = options.python.absolute()
    checkouts = {"now": ROOT, **({"before": options.before} if options.before else {})}
    found: dict[str, list[tuple[float, Created]]] = {name: [] for name in checkouts}
    for given in options.scripts:
        script = (given / "script.py" if given.is_dir() else given).resolve()
        plain = run_plain(script, options.python)
        label = given.name if given.is_dir() else given.stem
        print(f"{label}: plain run {plain:.1f} s", flush=True)
        for name, checkout in checkouts.items():
            created = run_create(script, options.python, checkout)
            found[name].append((plain, created))
            print(f"  {name:6} {created.render(plain)}", flush=True)
    for name, runs in found.items():
        _print_summary(name, runs)
    return 0 if all(one.document for runs in found.values() for _, one in runs) else 1


def _print_summary(name: str, runs: list[tuple[float, Created]]) -> None:
    whole = statistics.median(one.seconds / plain for plain, one in runs)
    recorded = statistics.median(one.seconds / one.recorded for _, one in runs)
    late = statistics.median(one.sum_wall(*UNTIL_VERDICT) - plain for plain, one in runs)
    print(
        f"\n{name}: the whole is {whole:.1f} x plain and {recorded:.1f} x recorded at the median;"
    )
    print(f"  the verdict comes {late:+.1f} s after the end of a plain run")
    stages: defaultdict[str, float] = defaultdict(float)
    for _, one in runs:
        for stage, row in (one.document.get("timing") or {}).items():
            stages[stage] += (row.get("cpu") or 0.0) if isinstance(row, dict) else 0.0
    for stage, cpu in stages.items():
        print(f"  {stage:18} {cpu / max(sum(stages.values()), 1e-9):5.1%} of processor time")


if __name__ == "__main__":
    sys.exit(main())

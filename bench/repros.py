"""The repros of a folder of cases as a maintainer gets them.

    python bench/repros.py PYTHON CASES [--keep FOLDER] [--only NAME]…

`create` runs under PYTHON on each CASES/NAME/script.py; what is a bug there gets a row: lines that
are not blank (imports too), tensor operations, the form (plain, or the harness), in how many of
three fresh processes the file fails, whether it passes its control run, whether black would leave
it as it is, and the wall seconds of `create`. Last come the medians, of forward failures and of
gradients. A case takes a minute or two. `--keep` leaves the reports there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from reporter.core.formatting import format_program
from reporter.execution.control import needs_control, run_control
from reporter.execution.fresh_process import run_cold

#: Seconds for one process, and for one run of the tool.
TIMEOUT, LIMIT = 120.0, 1200.0
RUNS = 3


@dataclass(frozen=True)
class Row:
    """What one case came to; `kind` is why there is no repro where `lines` is 0."""

    name: str
    kind: str
    lines: int = 0
    statements: int = 0
    form: str = ""
    fails: int = 0
    control: bool = False
    formatted: bool = False
    gradient: bool = False
    seconds: float = 0.0

    def render(self) -> str:
        """The row of the table."""
        if not self.lines:
            return f"{self.name:40.40} {self.kind:60.60} {self.seconds:5.0f} s"
        marks = ("" if self.control else "  CONTROL FAILS") + ("" if self.formatted else "  BLACK")
        return (
            f"{self.name:40.40} {self.kind:18.18} {self.lines:3} lines {self.statements:3} ops"
            f"  {self.form:8} fails {self.fails}/{RUNS}{marks} {self.seconds:5.0f} s"
        )


def run(script: Path, python: Path, folder: Path) -> Row:
    """`create` on one script, and what its repro shows."""
    command = [sys.executable, "-m", "reporter", "create", "--json", "--no-input", "-j2"]
    command += ["--force", "--python", str(python), "-o", str(folder), str(script)]
    name = script.parent.name
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Row(name, "no answer in time", seconds=LIMIT)
    seconds = time.monotonic() - started
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return Row(name, f"no answer: {done.stderr.strip()[-60:]}", seconds=seconds)
    if "verdict" not in report:
        return Row(name, f"no answer: {report.get('error')}", seconds=seconds)
    kind = str(report["verdict"]["kind"])
    if done.returncode != 0:
        return Row(name, f"{kind}, no repro (exit code {done.returncode})", seconds=seconds)
    text = (folder / "repro.py").read_text(encoding="utf-8")
    is_plain = needs_control(text)
    answers = [run_cold(python, text, TIMEOUT) for _ in range(RUNS)]
    return Row(
        name,
        kind,
        lines=sum(1 for line in text.splitlines() if line.strip()),
        statements=int(report["repro"]["statements"]),
        form="plain" if is_plain else "harness",
        fails=sum(answer.failed for answer in answers),
        control=not is_plain or run_control(python, text, TIMEOUT).outcome == "passes",
        formatted=format_program(text) == text,
        gradient=bool(report["requires"]["backward"]),
        seconds=seconds,
    )


def main() -> None:
    """The command in the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        reports = arguments.keep or Path(temporary)
        for script in sorted(arguments.cases.glob("*/script.py")):
            if arguments.only and script.parent.name not in arguments.only:
                continue
            rows.append(run(script, arguments.python, reports / script.parent.name))
            print(rows[-1].render(), flush=True)
    for name, chosen in (
        ("forward", [row.lines for row in rows if row.lines and not row.gradient]),
        ("gradients", [row.lines for row in rows if row.lines and row.gradient]),
    ):
        if chosen:
            middle, largest = statistics.median(chosen), max(chosen)
            print(
                f"{name}: {len(chosen)} repros, {middle:g} lines at the median, at most {largest}"
            )


if __name__ == "__main__":
    main()

"""Verdicts of `diagnose`, held against what is known of the programs.

    python bench/verdicts.py PYTHON [FOLDER…]

PYTHON is an interpreter with torch. A folder has cases, sub-folders with `script.py` and
`truth.json`; the truth says for each release of torch whether it is a bug, and the kinds and layers
that count as right. Without a folder these are the ones of `tests/data/doors`. Each program is
diagnosed in a process of its own, one after another.

A line for each case (wall seconds, and those of the script's own run), then for each folder a
table, kinds, layers, false alarms and times.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOORS = Path(__file__).resolve().parent.parent / "tests" / "data" / "doors"
#: Seconds for one diagnosis.
TIMEOUT = 900.0


@dataclass(frozen=True)
class Result:
    """One case: what was wanted, what came out, and how long it took."""

    name: str
    wanted: dict[str, Any]
    kind: str
    layer: str
    summary: str
    is_bug: bool | None
    seconds: float
    script: float

    @property
    def kind_right(self) -> bool:
        return self.kind in self.wanted["kinds"] and self.is_bug == self.wanted["is_bug"]

    @property
    def layer_counts(self) -> bool:
        return bool(self.wanted["is_bug"] and self.wanted.get("layers"))

    @property
    def layer_right(self) -> bool:
        return not self.layer_counts or self.layer in self.wanted["layers"]

    @property
    def false_alarm(self) -> bool:
        return bool(self.is_bug) and not self.wanted["is_bug"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--only", default="", help="a regular expression on case names")
    options = parser.parse_args()
    version = _read_version(options.python)
    folders = options.folders or sorted(each for each in DOORS.iterdir() if each.is_dir())
    results = []
    for folder in folders:
        found = _judge_folder(folder, options.python, version, options.only)
        _print_summary(f"{folder.name}, torch {version}", found)
        results += found
    return 0 if results and all(each.kind_right for each in results) else 1


def _judge_folder(folder: Path, python: str, version: str, only: str) -> list[Result]:
    """Prints a line for each case as it is judged."""
    results = []
    for truth in sorted(folder.glob("*/truth.json")):
        wanted = json.loads(truth.read_text())["expected"].get(version)
        if wanted is None or not re.search(only, truth.parent.name):
            continue
        result = _run(truth.parent, wanted, python)
        results.append(result)
        is_right = result.kind_right and result.layer_right
        print(
            f"{'' if is_right else 'BAD':4}{result.name:40} {result.kind + ' / ' + result.layer:36}"
            f" {result.seconds:6.1f} s, script {result.script:5.1f} s",
            flush=True,
        )
        if not is_right:
            print(f"      {result.summary}", flush=True)
    return results


def _read_version(python: str) -> str:
    code = "import torch; print(torch.__version__.split('+')[0])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _run(case: Path, wanted: dict[str, Any], python: str) -> Result:
    command = [sys.executable, "-m", "reporter", "diagnose", "--json", "--no-input"]
    command += ["--python", python, str(case.resolve() / "script.py")]
    started = time.perf_counter()
    document: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as work:
        try:
            done = subprocess.run(
                command, cwd=work, capture_output=True, text=True, timeout=TIMEOUT
            )
            document = json.loads(done.stdout)
            ending = f"exit {done.returncode}"
        except subprocess.TimeoutExpired:
            ending = "no answer in time"
        except ValueError:
            ending = f"exit {done.returncode}: {done.stderr.strip()[-100:]}"
    none: dict[str, Any] = {"kind": ending, "layer": "", "is_bug": None, "summary": ""}
    verdict = document.get("verdict") or none
    timing = document.get("timing") or {}
    return Result(
        case.name,
        wanted,
        verdict["kind"],
        verdict["layer"],
        verdict["summary"],
        verdict["is_bug"],
        time.perf_counter() - started,
        timing.get("record", {}).get("wall", 0.0),
    )


def _print_summary(what: str, results: list[Result]) -> None:
    if not results:
        print(f"{what}: no case says what it should show")
        return
    table = Counter((result.wanted["kinds"][0], result.kind) for result in results)
    print(f"\n{what}: wanted kind (the first that counts as right) by answer")
    for (wanted, answer), count in sorted(table.items()):
        print(f"  {wanted:22} -> {answer:22} {count}")
    kinds = sum(result.kind_right for result in results)
    counted = [result for result in results if result.layer_counts]
    layers = sum(result.layer_right for result in counted)
    alarms = sum(result.false_alarm for result in results)
    print(
        f"kinds {kinds}/{len(results)}, layers {layers}/{len(counted)},"
        f" false alarms called a bug {alarms}"
    )
    ratios = [result.seconds / result.script for result in results if result.script]
    ratios = ratios or [float("nan")]
    print(
        f"median {statistics.median(result.seconds for result in results):.0f} s; over the script's"
        f" own recorded run: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}\n"
    )


if __name__ == "__main__":
    sys.exit(main())

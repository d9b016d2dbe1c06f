"""Confusion table of `diagnose` over a folder of cases: python bench/verdicts.py [FOLDER]
[INTERPRETER].

A case is a sub-folder with `script.py` and `truth.json`; the truth holds, per torch release,
whether it is a bug and the kinds and layers that count as right. The release is the interpreter's.
One line per case (wall seconds, those of the script's own run, and the sum of all measurements),
then the table, then the three figures that matter: kinds, layers, false alarms.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 900.0


@dataclass(frozen=True)
class Result:
    """One case: what was wanted, what came out, and how long it took."""

    name: str
    wanted: dict[str, Any]
    kind: str
    layer: str
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
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("python", nargs="?", default=sys.executable)
    parser.add_argument("--only", default="", help="a regular expression on case names")
    options = parser.parse_args()
    if options.folder is None:
        print("nothing to do: name a folder of cases, each with a script.py and a truth.json")
        return 0
    version = _read_version(options.python)
    results = []
    for truth in sorted(options.folder.glob("*/truth.json")):
        wanted = json.loads(truth.read_text())["expected"].get(version)
        if wanted is not None and re.search(options.only, truth.parent.name):
            result = _run(truth.parent, wanted, options.python)
            results.append(result)
            mark = "    " if result.kind_right and result.layer_right else "BAD "
            print(
                f"{mark}{result.name:40} {result.kind + ' / ' + result.layer:36} "
                f"{result.seconds:6.1f} s, script {result.script:5.1f} s",
                flush=True,
            )
    return _print_summary(version, results)


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
    verdict = document.get("verdict") or {"kind": ending, "layer": "", "is_bug": None}
    timing = document.get("timing") or {}
    return Result(
        case.name,
        wanted,
        verdict["kind"],
        verdict["layer"],
        verdict["is_bug"],
        time.perf_counter() - started,
        timing.get("record", {}).get("wall", 0.0),
    )


def _print_summary(version: str, results: list[Result]) -> int:
    if not results:
        print(f"no case says what torch {version} should show", file=sys.stderr)
        return 2
    table = Counter((result.wanted["kinds"][0], result.kind) for result in results)
    print(f"\ntorch {version}: wanted kind (the first that counts as right) by answer")
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
    ratios = sorted(result.seconds / result.script for result in results if result.script) or [
        float("nan")
    ]
    print(
        "wall time over the script's own recorded run: "
        f"median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.2f}"
    )
    return 0 if kinds == len(results) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())

"""Verdicts on the programs of `tests/data/doors`, held against what is known of them.

    python bench/doors.py PYTHON [DOOR…]

PYTHON is an interpreter with torch; the truth of its release counts. Each program is diagnosed in a
process of its own, one after another. Prints a row for each program and, for each door, how many
kinds and layers are right and the median time.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

DOORS = Path(__file__).resolve().parent.parent / "tests" / "data" / "doors"
#: Seconds for one diagnosis.
_LIMIT = 600


def main() -> None:
    """Diagnoses the programs of the named doors, or of all."""
    python, doors = sys.argv[1], sys.argv[2:] or sorted(
        d.name for d in DOORS.iterdir() if d.is_dir()
    )
    question = "import torch; print(torch.__version__.split('+')[0])"
    release = subprocess.check_output([python, "-c", question], text=True).strip()
    for door in doors:
        _diagnose_door(door, python, release)


def _diagnose_door(door: str, python: str, release: str) -> None:
    kinds, layers, located, seconds = 0, 0, 0, []
    for folder in sorted((DOORS / door).iterdir()):
        truth = json.loads((folder / "truth.json").read_text())["expected"].get(release)
        if truth is None:
            continue
        started = time.monotonic()
        kind, layer, summary = _diagnose(python, folder / "script.py")
        seconds.append(time.monotonic() - started)
        right = kind in truth["kinds"]
        kinds += right
        if truth["is_bug"] and "layers" in truth:
            located += 1
            layers += right and layer in truth["layers"]
        expected = "/".join([*truth["kinds"], *truth.get("layers", ())])
        mark = "   " if right else "BAD"
        print(
            f"{mark} {folder.name:38} {seconds[-1]:5.0f} s  {kind} {layer}  [{expected}]",
            flush=True,
        )
        if not right:
            print(f"      {summary}", flush=True)
    if seconds:
        print(
            f"{door}: {kinds} of {len(seconds)} kinds, {layers} of {located} layers of bugs,"
            f" median {statistics.median(seconds):.0f} s",
            flush=True,
        )


def _diagnose(python: str, script: Path) -> tuple[str, str, str]:
    """Kind, layer and summary; for a run that gave none, its exit code and last line."""
    command = [sys.executable, "-m", "reporter", "diagnose", "--json", "--no-input"]
    try:
        run = subprocess.run(
            [*command, "--python", python, str(script)],
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        verdict = json.loads(run.stdout)["verdict"]
        return verdict["kind"], verdict["layer"], verdict["summary"]
    except subprocess.TimeoutExpired:
        return "timeout", "", f"no verdict after {_LIMIT} s"
    except (ValueError, KeyError, TypeError):
        last = (run.stderr.strip().splitlines() or [""])[-1]
        return f"exit {run.returncode}", "", last


if __name__ == "__main__":
    main()

"""Seconds, candidates and sizes of `create` per script of a folder: python bench/cases.py [FOLDER]
[INTERPRETER].

A folder holds scripts, or sub-folders with a script.py each; the default is the scripts the tests
use.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEFAULT = Path(__file__).resolve().parent.parent / "tests" / "data" / "scripts"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    scripts = sorted({*folder.glob("*.py"), *folder.glob("*/script.py")})
    print(
        f"{'script':40} {'verdict':32} {'seconds':>8} {'candidates':>10} {'statements':>10} {'lines':>6}"
    )
    seconds = []
    for script in scripts:
        name = script.parent.name if script.name == "script.py" else script.stem
        with tempfile.TemporaryDirectory() as work:
            command = [sys.executable, "-m", "reporter", "create", "--json", "--no-input"]
            command += ["--python", python, "-o", f"{work}/report", str(script)]
            started = time.perf_counter()
            done = subprocess.run(command, cwd=work, capture_output=True, text=True)
            took = time.perf_counter() - started
        document = json.loads(done.stdout)
        verdict = document.get("verdict") or {"kind": f"exit {done.returncode}", "layer": ""}
        repro = document.get("repro") or {}
        seconds.append(took)
        numbers = [repro.get(key, "-") for key in ("candidates", "statements", "lines")]
        print(
            f"{name:40} {verdict['kind'] + ' / ' + verdict['layer']:32} {took:8.1f} {numbers[0]!s:>10} "
            f"{numbers[1]!s:>10} {numbers[2]!s:>6}",
            flush=True,
        )
    print(f"median {sorted(seconds)[len(seconds) // 2]:.1f} s over {len(seconds)} scripts")


if __name__ == "__main__":
    main()

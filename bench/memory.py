"""Peak memory of `create` against the script's own, by the part that its processes play.

    python bench/memory.py [--gib 1.0] [--python PYTHON]

The script is a made-up model with so many GiB of float32 parameters and one wrong value under
Inductor. It runs plainly first, then through `create --quick`. Each row is the peak of all
processes that play one part, and what that is of the script's peak: a page that several of them
share counts once in all (the proportional set size of Linux). `together` is the peak of all of them
at one time. It is sampled, so that what lives shorter than a few tenths of a second may be missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.processes import read_memory, read_stat

ROOT = Path(__file__).resolve().parent.parent
PERIOD = 0.3
WIDTH = 4096
SCRIPT = """\
import torch
import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
torch.manual_seed(0)
layers = [torch.nn.Linear({width}, {width}, bias=False) for _ in range({layers})]
model = torch.nn.Sequential(*layers, torch.nn.ReLU())
x = torch.randn(2, {width})
with torch.no_grad():
    assert torch.equal(torch.compile(model)(x), model(x))
"""
#: Parts by a word of the command line; forks have that of the process that they come from.
PARTS = {
    "bootstrap.py": "script and its forks",
    "worker_main.py": "workers and fresh processes",
    "triton_main.py": "questions to Triton",
    "cc1plus": "C++ compilers",
    "reporter": "the tool itself",
    "script.py": "script and its forks",
}


class Sampler:
    """Notes the peaks of a process and its descendants, by the part they play, until `end`."""

    def __init__(self, root: int) -> None:
        self.peaks: dict[str, int] = {}
        self._known: dict[int, str] = {root: ""}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stops."""
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._over.wait(PERIOD):
            found = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
            parents = {pid: read_stat(pid)[0] for pid in found}
            while more := [p for p in found if parents[p] in self._known and p not in self._known]:
                self._known.update(dict.fromkeys(more, ""))
            now: dict[str, int] = {}
            for pid in self._known:
                size = read_memory(pid)
                if size:
                    now[_name_part(pid)] = now.get(_name_part(pid), 0) + size
            for part, size in (*now.items(), ("together", sum(now.values()))):
                self.peaks[part] = max(self.peaks.get(part, 0), size)


def _name_part(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return "others"
    return next((part for word, part in PARTS.items() if word in command), "others")


def measure_peaks(
    command: Sequence[str | Path], folder: Path, more: Mapping[str, str]
) -> dict[str, int]:
    """MiB at the peak, by part, of a command and all that it starts."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        sampler = Sampler(process.pid)
        process.wait()
        sampler.end()
    return sampler.peaks


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=1.0, help="GiB of parameters")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    options = parser.parse_args()
    layers = max(1, round(options.gib * 2**30 / (4 * WIDTH * WIDTH)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.py"
        script.write_text(SCRIPT.format(width=WIDTH, layers=layers))
        cache = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
        own = measure_peaks([options.python, script], folder, cache)["together"]
        told = f"{layers} layers, {options.gib:g} GiB of parameters; the script alone: {own} MiB"
        print(told, flush=True)
        command = [sys.executable, "-m", "reporter", "create", "--quick", "--no-input"]
        command += ["--python", str(options.python), "-o", str(folder / "report"), str(script)]
        found = measure_peaks(command, ROOT, cache)
        for part, size in sorted(found.items(), key=lambda item: -item[1]):
            print(f"  {part:30} {size:7} MiB = {size / own:5.2f} x the script")
        return 0 if (folder / "report" / "report.json").exists() else 1


if __name__ == "__main__":
    sys.exit(main())

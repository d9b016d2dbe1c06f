"""Time and size of each of torch's debugging tools on one small repro, side by side on the releases
at hand.

    python bench/evidence.py [BACKEND [ENVIRONMENT…]]   # aot_eager by default; inductor compiles
    C++ and takes a minute

A run without any tool comes first, so that what the tools add together can be told from what
compiling costs. The facts of `bugreport env` stand beside torch's own `collect_env`; both start an
interpreter and import torch.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from reporter.core.kinds import Kind, Layer  # noqa: E402
from reporter.evidence.repro_evidence import (  # noqa: E402
    TOOLS,
    ReproEvidence,
    ShownFailure,
    WatchedRun,
    collect_evidence,
)
from reporter.publish.versions import collect  # noqa: E402
from tests.conftest import RELEASES, python_in  # noqa: E402

REPRO = """
import torch

class Repro(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(8)])

    def forward(self, x):
        y = self.layers(x)
        torch._dynamo.graph_break()
        return y.softmax(-1)

run = torch.compile(Repro(), backend=BACKEND)
for size in (2, 3):
    run(torch.ones(size, 16))
"""


def measure(python: Path, backend: str, tools: tuple[str, ...]) -> ReproEvidence:
    """One fresh process with the given tools."""
    text = REPRO.replace("BACKEND", repr(backend))
    with tempfile.TemporaryDirectory() as folder:
        return collect_evidence(
            WatchedRun(python, text, budget=900, tools=tools),
            ShownFailure(Kind.CRASH, Layer.DYNAMO),
            keep=Path(folder) / "kept",
        )


def main() -> None:
    """Prints a block for each release."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "aot_eager"

    wanted = sys.argv[2:] or list(RELEASES)
    for name, release in RELEASES.items():
        if name not in wanted:
            continue
        python = python_in(name)
        if not python.exists():
            print(f"torch {release}: not at hand")
            continue
        bare = measure(python, backend, ("phases",))
        full = measure(python, backend, TOOLS)
        started = time.monotonic()
        collect(python)
        ours = time.monotonic() - started
        command = [str(python), "-m", "torch.utils.collect_env"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        theirs = time.monotonic() - started - ours
        print(
            f"torch {release}, {backend}: {bare.seconds:.1f} s without tools,"
            f" {full.seconds:.1f} s with all ({full.seconds / bare.seconds:.2f} times);"
            f" environment {ours:.1f} s, collect_env {theirs:.1f} s"
        )
        for item in full.collected:
            found = f"{item.bytes / 1024:8.1f} KiB" if item.outcome == "ok" else item.reason
            print(f"  {item.name:10} {item.seconds:7.3f} s  {found}")


if __name__ == "__main__":
    main()

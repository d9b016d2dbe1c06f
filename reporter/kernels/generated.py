"""What Triton's compiler says of the kernels that inductor writes for a repro, for GPUs that need not be there.

A program that fails on the CPU is often compiled for a GPU by somebody else, and a kernel that no target can compile is Triton's
bug or inductor's, whatever the values are. Nothing is run: values are judged where the program is.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from reporter.folder import write_private
from reporter.kernels.ask import ask
from reporter.lab import Json

_FAILED = ("raises", "died", "refused")


def of_repro(python: Path, text: str, budget: float, keep: Path | None = None) -> Json:
    """The part of report.json: `kernels`, each with its arguments and an outcome for each target, or `skipped` with a reason.

    Takes at most `budget` seconds. The texts of the kernels go to `keep`, which is private.
    """
    with tempfile.TemporaryDirectory(prefix="generated-") as name:
        script = Path(name).resolve() / "repro.py"
        script.write_text(text, encoding="utf-8")
        spec = {"what": "generated", "script": str(script)}
        answer = ask(python, spec, script.parent, budget)
    launches = answer.get("launches") or []
    if keep is not None and launches:
        _keep(keep, launches)
    if not launches:
        return {"skipped": str(answer.get("skipped", "inductor wrote no Triton kernel"))}
    return {
        "version": answer["triton"],
        "kernels": [_row(launch) for launch in launches],
        "unsupported": answer.get("unsupported") or {},
    }


def _row(launch: Json) -> Json:
    return {
        **{name: launch[name] for name in ("kernel", "heuristics", "signature", "constexprs")},
        "arguments": launch.get("arguments") or {},
        "targets": {item["target"]: item["outcome"] for item in launch["targets"]},
        "errors": {
            item["target"]: f"{item.get('exception') or item.get('signal')}: {item['message']}"
            for item in launch["targets"]
            if item["outcome"] in _FAILED
        },
    }


def _keep(folder: Path, launches: list[Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for launch in launches:
        write_private(folder / f"{launch['kernel']}.py", launch["text"] + "\n")
    write_private(folder / "kernels.json", json.dumps(launches, indent=2))

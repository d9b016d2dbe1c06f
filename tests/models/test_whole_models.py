"""Models that somebody else wrote, rewritten as a whole: the same computation, in source that says
nothing of its origin.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests.support.places import DATA, ROOT


def test_whole_models_are_rewritten(models_python: Path) -> None:
    """Equal outputs and gradients, source that does not grow with the layers, and no name of where
    it came from.
    """
    done = subprocess.run(
        [models_python, DATA / "whole_models.py", ROOT], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rows) == 16
    good = [row["name"] for row in rows if row["same"] and not row["reasons"]]
    assert len(good) >= 0.9 * len(rows), {row["name"] for row in rows} - set(good)
    for row in rows:
        assert not re.search(
            r"transformers|hugging|bert|gpt|llama|mamba|whisper|\bt5\b|\bvit\b|\bopt\b",
            row["text"],
            re.IGNORECASE,
        )
        more = len(row["longer"].splitlines()) - len(row["text"].splitlines())
        assert more <= 1, (row["name"], more)

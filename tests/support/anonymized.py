"""Running `bugreport anonymize` in tests as a user does, and what its proof has to say."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import interpreter
from tests.support.created import Created, bugreport


def anonymize(text: str, folder: Path, *more: str, python: Path | None = None) -> Created:
    """The command with more options on a script, in a folder of its own; by default in the warm
    interpreter.
    """
    (folder / "script.py").write_text(text)
    done = bugreport(
        "anonymize", "--json", "--no-input", "--python", python or interpreter.WARM,
        "-o", folder / "report", *more, folder / "script.py", cwd=folder,
    )  # fmt: skip
    return Created(done.returncode, json.loads(done.stdout), done.stderr, folder / "report")


def check_proved(created: Created) -> None:
    """The model of the report is the private one, bit by bit."""
    proof = created.document["equivalence"]
    assert proof["proved"] and proof["operators"]["same"]
    assert {proof[name]["how"] for name in ("outputs", "gradients", "buffers")} == {"bitwise"}

"""What a Triton answered about a kernel, noted once and then read from a file.

`answering` makes an interpreter that answers every process of a report on a kernel from the notes
of `tests/data/kernels/answers`: what the script's launches compile to, what becomes of each
candidate, how the repro ends. A question that was not noted fails. `python -m
tests.support.recorded_triton PYTHON` asks all of it again of an interpreter with torch and Triton.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.places import DATA

SCRIPTS = DATA / "kernels"
HOME = SCRIPTS / "answers"
#: The kernels with notes, and what is done with each.
NAMES = {"fp8_sum": "create", "right": "diagnose", "float_atomic_and": "diagnose"}

_PYTHON = """\
#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
import recorded_triton_client
recorded_triton_client.main({notes!r}, {real!r}, {asks!r})
"""


def answering(
    name: str,
    folder: Path,
    asks: Path | None = None,
    edit: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None,
) -> Path:
    """An interpreter with the notes on a kernel, in `folder`.

    Args:
        asks: a real interpreter, which is asked what is not noted yet.
        edit: makes another note of a question's kind ("compile", "program") and its note.
    """
    notes = HOME / f"{name}.json"
    if edit is not None:
        known = json.loads(notes.read_text())
        notes = folder / notes.name
        notes.write_text(json.dumps({ask: edit(ask.split()[0], known[ask]) for ask in known}))
    shutil.copy(Path(__file__).parent / "recorded_triton_client.py", folder)
    python = folder / "python"
    text = _PYTHON.format(
        python=sys.executable,
        folder=str(folder),
        notes=str(notes),
        real=str(asks or sys.executable),
        asks=asks is not None,
    )
    python.write_text(text)
    python.chmod(0o755)
    return python


def main(python: Path) -> None:
    """Writes all notes anew."""
    from tests.support.created import bugreport

    for name, verb in NAMES.items():
        (HOME / f"{name}.json").unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            script = folder / "script.py"
            script.write_text((SCRIPTS / f"{name}.py").read_text())
            words = [verb, "--no-input", "--python", answering(name, folder, python)]
            words += ["-o", folder / "report"] if verb == "create" else []
            done = bugreport(*words, script, cwd=folder)
        notes = json.loads((HOME / f"{name}.json").read_text())
        text = json.dumps(notes, indent=1, sort_keys=True)
        (HOME / f"{name}.json").write_text(text + "\n")
        print(name, done.returncode, len(notes), "answers", len(text), "bytes", done.stderr[-400:])


if __name__ == "__main__":
    main(Path(sys.argv[1]))

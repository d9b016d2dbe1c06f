"""Runs a script's text under the recorder, as `bugreport` does, for tests that ask the recording something."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from reporter.findings import Recording
from reporter.recording import Session

#: One for all: probing the C++ compiler anew would take longer than most tests. It goes when the tests end.
_CACHE = tempfile.TemporaryDirectory(prefix="bugreport-tests-", ignore_cleanup_errors=True)


def watch(text: str, folder: Path, timeout: float = 120) -> Recording:
    """The recording of a script; the caller closes it."""
    script = folder / "job" / "script.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(text)
    session = Session(
        Path(sys.executable),
        [str(script)],
        module=False,
        cwd=folder,
        timeout=timeout,
        cache=Path(_CACHE.name),
        echo=None,
        talk=lambda _: None,
    )
    return session.run()

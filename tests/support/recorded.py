"""Runs a program of tests/data/scripts where it lies, under the recorder, for tests that ask the
recording something.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from reporter.recording.findings import Recording
from tests.support.scripts import script
from tests.support.watched import session


def record(name: str, folder: Path, python: Path | None = None) -> Recording:
    """The recording of the program `name`, which runs in `folder`; the caller closes it."""
    return session([str(script(name))], folder, python=python).run()


@contextlib.contextmanager
def recorded(name: str, folder: Path) -> Iterator[Recording]:
    """The recording of the program `name`, for the time of a `with` statement."""
    recording = record(name, folder)
    try:
        yield recording
    finally:
        recording.close()

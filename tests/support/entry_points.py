"""Starting programs in every way that the command knows, recorded and refused as the command does
it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reporter.core.setting_sources import resolve
from reporter.core.settings import Options
from reporter.recording.entry_points import (
    build_program_start,
    check_early,
    refuse_run,
    resolve_entry_point,
)
from reporter.recording.findings import Recording
from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions
from tests.support.places import ROOT
from tests.support.scripts import text

#: The last line of a program that makes the call of `entry_points/tallies`, which has a real bug.
CALL = "\nprint(len(fast_tally()))\n"


def tally_script() -> str:
    """A script whose only compiled call raises."""
    return text("entry_points/tallies") + CALL


def options(folder: Path, *words: str) -> Options:
    """What `bugreport diagnose WORDS` would have read in `folder`."""
    given = {"module": words[1]} if words[0] == "-m" else {}
    script, rest = (None, words[2:]) if given else (Path(words[0]), words[1:])
    return resolve(given, script, tuple(rest), cwd=folder)


def run(folder: Path, *words: str, python: Path, timeout: float = 600) -> Recording:
    """The recording of what `words` start, refused as the command would refuse it."""
    asked = options(folder, *words)
    check_early(asked)
    way = resolve_entry_point(asked, python)
    program = WatchedProgram(
        python,
        tuple(way.command),
        way.cwd,
        folder / "cache",
        build_program_start(way),
        way.build_variables(),
    )
    session = RecordingSession(program, WatchOptions(timeout))
    recording = session.run()
    refuse_run(way, recording)
    return recording


def found(recording: Recording) -> list[tuple[str, str, str]]:
    """(symptom, exception, place) of each finding; closes the recording."""
    rows = [
        (item.symptom, str((item.failure or {}).get("exception")), item.original.origin)
        for item in recording.findings
    ]
    recording.close()
    return rows


def write(folder: Path, **files: str) -> Path:
    """Files by name, `_py` for `.py`."""
    for name, content in files.items():
        (folder / name.replace("_py", ".py")).write_text(content)
    return folder


def tool(*more: str | Path) -> list[str]:
    """The command of this checkout; `more` stands behind whatever it is given."""
    last = [str(word) for word in more]
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv += {last!r}; "
        "from reporter.__main__ import main; main()"
    )
    return [sys.executable, "-c", code]

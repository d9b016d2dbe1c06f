"""The tests leave a developer's home as it is: what they write lies in the folder of their run,
which goes with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.places import ROOT

#: Tests that write settings, reports, a store and the compiler's caches, in this process and in
#: others.
WRITING = (
    "tests/unit/reporter/cli",
    "tests/unit/reporter/store",
    "tests/e2e/test_command_line.py",
    "tests/live/test_recording.py::test_a_call_that_fails_in_eager_too_is_no_finding",
)


def test_a_run_of_the_tests_writes_nothing_into_the_home_of_the_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # the address of a socket is short, so its folder cannot lie as deep as that of this test
    temporary = Path(tempfile.mkdtemp(prefix="t"))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "BUGREPORT_"))}
    kept.pop("TORCHINDUCTOR_CACHE_DIR", None)
    kept |= {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["-n0", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *WRITING],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout
    assert list(home.rglob("*")) == []
    assert list(temporary.iterdir()) == []

"""The entry point of the worker is run by location: nothing of ours gets in the way of the user's
modules.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from collectors.entry import worker_main

FOLDER = Path(worker_main.__file__).parent


def test_modules_of_the_user_win_over_ours(tmp_path: Path) -> None:
    """A candidate run by the entry point imports the user's ``worker``, not the one next to it."""
    (tmp_path / "worker.py").write_text("name = 'mine'")
    (tmp_path / "run").mkdir()
    (tmp_path / "out").mkdir()
    command = [sys.executable, str(FOLDER / "worker_main.py"), "once", "--folder", str(tmp_path)]
    text = (
        "import worker; print(worker.name)\n"
        "try:\n    import slot\nexcept ImportError: print('no slot')"
    )
    request = json.dumps({"id": 0, "timeout": 300, "text": text}) + "\n"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, input=request, text=True, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "stdout").read_text() == "mine\nno slot\n"

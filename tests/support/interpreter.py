"""The interpreters of the tests: a warm one for what is asked of torch, and the real one for what
only a start shows.

A test gives `WARM` where the product wants the path of a Python interpreter. It behaves like the
interpreter of this environment, but its processes are forks of one that has imported torch and
compiled a line (see `warm_server`), which saves each of them about six seconds of processor time.
`COLD` is that interpreter itself.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

#: Where the session keeps its warm interpreter, its home and its caches; the workers of
#: pytest-xdist inherit it.
VARIABLE = "BUGREPORT_TEST_SESSION"
COLD = Path(sys.executable)

_PYTHON = """\
#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
import warm_client
warm_client.main({python!r}, {folder!r})
"""


def session() -> Path:
    """The folder of this run of pytest."""
    return Path(os.environ[VARIABLE])


def begin() -> Path:
    """Makes the session's folder, with the warm interpreter in it; its servers end when the folder
    goes.
    """
    folder = Path(tempfile.mkdtemp(prefix="brt-"))
    for name in ("warm_client.py", "warm_server.py"):
        shutil.copy(Path(__file__).parent / name, folder / name)
    for name in ("home", "cache", "inductor", "tmp"):
        (folder / name).mkdir()
    python = folder / "python"
    python.write_text(_PYTHON.format(python=sys.executable, folder=str(folder)))
    python.chmod(0o755)
    (folder / "pid").write_text(str(os.getpid()))
    os.environ[VARIABLE] = str(folder)
    return folder


def __getattr__(name: str) -> Path:
    if name == "WARM":
        return session() / "python"
    raise AttributeError(name)

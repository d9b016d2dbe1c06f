"""Each hostile program is contained, with the verdict that it deserves, and leaves nothing
behind.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.sandbox import Limits, make_sandbox
from reporter.sandbox.limits import MIB
from reporter.tracker.plain_text import clean_text
from tests.e2e.sandbox.hostile import PROGRAMS
from tests.support import interpreter
from tests.support.places import ROOT
from tests.support.sandbox import needs_bubblewrap
from tests.support.scripts import script, text
from tests.support.waiting import PATIENCE, until

LIMITS = Limits(
    seconds=PATIENCE,
    memory=256 * MIB,
    tasks=48,
    file=8 * MIB,
    disk=48 * MIB,
    output=4096,
    flood=8 * MIB,
)


@pytest.fixture(autouse=True)
def a_sandbox() -> None:
    needs_bubblewrap()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


def alive(mark: str, program: str = "") -> list[str]:
    """Processes with the mark in their command line, as the kernel lists them; those of one
    program.
    """
    found = []
    for name in os.listdir("/proc"):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes().decode("latin-1")
        except OSError:
            continue
        if name.isdigit() and mark in line and line.startswith(program):
            found.append(name)
    return found


@pytest.fixture
def keys() -> Iterator[Path]:
    """A key in a folder of the real home, as ~/.ssh has them: a machine that has none would prove
    nothing.
    """
    with tempfile.TemporaryDirectory(prefix=".bugreport-test-", dir=Path.home()) as folder:
        key = Path(folder) / "id_ed25519"
        key.write_text("SECRET")
        yield key


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_is_contained(
    name: str, tmp_path: Path, keys: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = PROGRAMS[name]
    monkeypatch.setenv("GH_TOKEN", "ghp_" + "canary")
    canary = tmp_path / "secret"
    canary.write_text("unchanged")
    seed = tmp_path / "seed"
    seed.mkdir()
    # the mark stands in the command line, so that survivors can be found
    mark = uuid.uuid4().hex
    port = str(listener.getsockname()[1])
    python = interpreter.COLD
    with make_sandbox(
        [str(python), "repro.py", str(canary), str(keys), port, mark],
        python=python,
        files={"repro.py": text(f"hostile/{name}")},
        limits=LIMITS,
        folders={"/seed": seed},
    ) as box:
        if hostile.stays:  # its time is over when it has done its worst
            wanted, over = hostile.stays, 2 * LIMITS.seconds
            box.clock = lambda: over if len(alive(mark, str(python))) >= wanted else 0.0
        results = [box.run() for _ in range(hostile.runs)]
    for result in results:
        assert result.ending in hostile.endings, result
        assert result.contained
        if result.ending == "exited":
            assert hostile.says in result.stdout + result.stderr
        for word in ("wrote", "connected", "became", "mounted", "traced", "SECRET"):
            assert word not in result.stdout
        assert len(result.stdout) <= LIMITS.output + 100
        assert not {"\x1b", "\x9b", "\x07", "\r", "\u202e"} & set(clean_text(result.stdout))
    until(lambda: not alive(mark), "the end of every process")
    assert canary.read_text() == "unchanged" and list(seed.iterdir()) == []
    assert not (Path(sysconfig.get_path("purelib")) / "sitecustomize.py").exists()
    with pytest.raises(TimeoutError):
        listener.accept()


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not os.path.exists("/usr/bin/python3"),
    reason="needs root, to become an ordinary user, and the system's Python",
)
def test_an_ordinary_user_is_held_as_well() -> None:
    """Root becomes another user inside; an ordinary user gets a user namespace. Both have to hold:
    the kernel refuses the next process, or the watch ends all of them first.
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o755)
        for package in ("reporter", "collectors"):
            shutil.copytree(ROOT / package, Path(name) / package)
        for path in (
            script("sandbox/runs_as_an_ordinary_user"),
            script("sandbox/forks_until_refused"),
        ):
            shutil.copy(path, name)
        command = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
        done = subprocess.run(
            [*command, "/usr/bin/python3", "runs_as_an_ordinary_user.py", "forks_until_refused.py"],
            cwd=name,
            env={
                "PATH": os.environ["PATH"],
                "HOME": name,
                "PYTHONPATH": name,
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
        )
    held = "refused after True" in done.stdout or "ending='tasks'" in done.stdout
    assert held, done.stdout + done.stderr

"""Each hostile program is contained, with the verdict that it deserves, and leaves nothing behind."""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.errors import CannotJudgeError
from reporter.github.plain import plain
from reporter.sandbox import Limits, Result, bubblewrap, sandboxed
from reporter.sandbox.limits import MIB
from tests.sandbox.hostile import PROGRAMS

LIMITS = Limits(
    seconds=15, memory=256 * MIB, tasks=48, file=8 * MIB, disk=48 * MIB, output=4096, flood=8 * MIB
)


@pytest.fixture(autouse=True)
def needs_bubblewrap() -> None:
    try:
        bubblewrap.program()
    except CannotJudgeError as error:
        pytest.skip(str(error))


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


def runs(text: str, times: int = 1, **more: object) -> list[Result]:
    python = Path(sys.executable)
    limits = more.pop("limits", LIMITS)
    with sandboxed([str(python), "repro.py"], python=python, files={"repro.py": text}, limits=limits, **more) as box:  # type: ignore[arg-type]
        return [box.run() for _ in range(times)]


def alive(mark: str) -> list[str]:
    """Processes with the mark in the text of their program, as the kernel lists them."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark in Path(f"/proc/{name}/cmdline").read_bytes().decode(
                "latin-1"
            ):
                found.append(name)
        except OSError:
            continue
    return found


@pytest.fixture
def keys() -> Iterator[Path]:
    """A key in a folder of the real home, as ~/.ssh has them: a machine that has none would prove nothing."""
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
    mark = uuid.uuid4().hex
    port = str(listener.getsockname()[1])
    text = hostile.text.replace("PLACE", str(canary)).replace("PORT", port)
    text = text.replace("KEYS", str(keys))
    limits = (
        LIMITS
        if "timeout" not in hostile.endings
        else Limits(**{**LIMITS.__dict__, "seconds": 3.0})
    )
    # the mark stands in the command line, so that survivors can be found
    text = f"import sys\nsys.argv.append({mark!r})\n" + text
    python = Path(sys.executable)
    with sandboxed(
        [str(python), "repro.py", mark],
        python=python,
        files={"repro.py": text},
        limits=limits,
        folders={"/seed": seed},
    ) as box:
        results = [box.run(), box.run()] if name.startswith(("poisons", "plants")) else [box.run()]
    for result in results:
        assert result.ending in hostile.endings, result
        assert result.contained
        if result.ending == "exited":
            assert hostile.says in result.stdout + result.stderr
        for word in ("wrote", "connected", "became", "mounted", "traced", "SECRET"):
            assert word not in result.stdout
        assert len(result.stdout) <= LIMITS.output + 100
        assert not {"\x1b", "\x9b", "\x07", "\r", "\u202e"} & set(plain(result.stdout))
    assert alive(mark) == []
    assert canary.read_text() == "unchanged" and list(seed.iterdir()) == []
    assert not (Path(sysconfig.get_path("purelib")) / "sitecustomize.py").exists()
    with pytest.raises(TimeoutError):
        listener.accept()


def test_a_limit_is_told_in_words() -> None:
    (result,) = runs("import time; time.sleep(60)", limits=Limits(seconds=1))
    assert (result.ending, result.exit) == ("timeout", None)
    assert result.detail == "did not end within 1 seconds"


def test_an_ordinary_program_has_what_it_needs(tmp_path: Path) -> None:
    text = """
import multiprocessing, os, subprocess, tempfile
with tempfile.NamedTemporaryFile("w+") as file:
    file.write("x"); file.flush()
multiprocessing.Lock()
open("/tmp/a.cpp", "w").write("int main() { return 3; }")
print(subprocess.call(["g++", "/tmp/a.cpp", "-o", "/tmp/a"]) or subprocess.call(["/tmp/a"]))
print(os.getcwd(), os.path.expanduser("~"), sorted(os.listdir(".")))
"""
    (result,) = runs(text, limits=Limits(seconds=60))
    assert result.stdout.split("\n")[:2] == ["3", "/tmp/work /tmp/home ['repro.py']"], result


@pytest.mark.parametrize(
    ("text", "ending", "signal"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal", "SIGSEGV"),
        ("import os; os.abort()", "signal", "SIGABRT"),
        ("while True: pass", "cpu", None),
        ("import sys; sys.exit(7)", "exited", None),
    ],
)
def test_how_it_ended(text: str, ending: str, signal: str | None) -> None:
    (result,) = runs(text, limits=Limits(seconds=30, cpu=1))
    assert (result.ending, result.signal) == (ending, signal)
    assert result.exit == (7 if ending == "exited" else None if ending == "cpu" else result.exit)


def test_output_keeps_its_beginning_and_its_end() -> None:
    (result,) = runs("print('first'); print('x' * 100000); print('last')")
    assert result.stdout.startswith("first") and result.stdout.endswith("last\n")
    assert "bytes left out" in result.stdout and len(result.stdout) < LIMITS.output + 100


def test_without_bubblewrap_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotJudgeError, match="bubblewrap is missing.*--trust"):
        sandboxed(["true"])


def test_where_bubblewrap_cannot_work_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --help ] && echo "--size BYTES" && exit 0\n'
        'echo "bwrap: No permissions to create new namespace" >&2; exit 1\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(CannotJudgeError, match="No permissions to create new namespace"):
        sandboxed(["true"])


def test_trusted_code_runs_without_a_sandbox_but_with_a_clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_canary_of_this_test")
    text = "import os; print(sorted(os.environ), os.listdir('.'), os.getcwd())"
    (result,) = runs(text, trust=True)
    assert result.contained is False and result.exit == 0
    assert "GITHUB_TOKEN" not in result.stdout and "['repro.py']" in result.stdout


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not os.path.exists("/usr/bin/python3"),
    reason="needs root, to become an ordinary user, and the system's Python",
)
def test_an_ordinary_user_is_held_as_well(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Root becomes another user inside; an ordinary user gets a user namespace. Both have to hold."""
    import shutil
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o755)
        shutil.copytree(Path(__file__).parents[2] / "reporter", Path(name) / "reporter")
        driver = Path(name) / "driver.py"
        driver.write_text(
            "from pathlib import Path\nfrom reporter.sandbox import Limits, sandboxed\n"
            "python = Path('/usr/bin/python3')\n"
            "text = 'import os\\nn = 0\\ntry:\\n  while os.fork(): n += 1\\nexcept OSError: print(\"refused after\", n < 64)\\n'\n"
            "with sandboxed([str(python), 'x.py'], python=python, files={'x.py': text}, limits=Limits(seconds=20, tasks=32)) as box:\n"
            "    print(box.run())\n"
        )
        command = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
        done = subprocess.run(
            [*command, "/usr/bin/python3", str(driver)],
            env={
                "PATH": os.environ["PATH"],
                "HOME": name,
                "PYTHONPATH": name,
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert "refused after True" in done.stdout, done.stdout + done.stderr

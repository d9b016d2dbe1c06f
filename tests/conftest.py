"""What all tests share: a home of their own, a folder for each run, and the markers of the folders.

A folder says what its tests need (see CONTRIBUTING.md): `unit` no torch process, `live` the warm
interpreter, `e2e` the command from its beginning to its end, `releases`, `models` and `gpu` what
not every machine has.
"""

from __future__ import annotations

import atexit
import compileall
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from reporter.check.results import CheckSummary
from reporter.report.sections.report_document import Report
from tests.support import interpreter
from tests.support.schemas import validate

HERE = Path(__file__).parent
FOLDERS = ("unit", "live", "e2e", "releases", "models", "gpu")
RELEASES = {"v20": "2.0.1", "v26": "2.6.0", "v213": "2.13.0", "v215": "2.15.0"}
_HOMES = {
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
}


# A limit of real seconds for one example would be a test of how busy the machine is.
settings.register_profile("bugreport", deadline=None)
settings.load_profile("bugreport")


def pytest_configure(config: pytest.Config) -> None:
    """The run's own folder, home and caches, before anything is imported that looks for them."""
    if hasattr(config, "workerinput"):
        return
    os.environ.setdefault("BUGREPORT_TEST_ENVS", str(Path("~/.cache/bugreport-eval").expanduser()))
    # a shell has what it starts in the background ignore Ctrl-C, and every process would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = interpreter.begin()
    # at the very end, when nothing of this process has files there any more; the servers of the
    # warm interpreter go with the folder
    atexit.register(_remove, folder, os.getpid())
    for name in list(os.environ):
        if name.startswith("BUGREPORT_") and not name.startswith("BUGREPORT_TEST_"):
            del os.environ[name]
    os.environ["HOME"] = str(folder / "home")
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    for name, place in _HOMES.items():
        os.environ[name] = str(folder / "home" / place)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    os.environ["TMPDIR"] = str(folder / "tmp")
    tempfile.tempdir = None  # or this process would go on with the folder that it asked for first
    # as an installer does; the hundreds of processes of a run write no bytecode of their own
    for package in ("reporter", "collectors", "anonymizer", "templates"):
        compileall.compile_dir(HERE.parent / package, quiet=2)


def _remove(folder: Path, owner: int) -> None:
    """Removes the run's folder, unless this is a fork of its process."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker more than there are cores: a test that starts the tool often waits."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return (len(affinity(0)) if affinity else os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test has the marker of its folder."""
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in FOLDERS:
            item.add_marker(getattr(pytest.mark, folder))


@pytest.fixture(autouse=True)
def documents_are_what_their_schemas_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever report.json or check document a test writes in this process is validated."""
    dumps, to_json = Report.dumps, CheckSummary.to_json

    def report(self: Report) -> str:
        text = dumps(self)
        validate(json.loads(text), "report")
        return text

    def check(self: CheckSummary) -> dict[str, object]:
        document = to_json(self)
        validate(json.loads(json.dumps(document)), "check")
        return document

    monkeypatch.setattr(Report, "dumps", report)
    monkeypatch.setattr(CheckSummary, "to_json", check)


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A test sees defaults unless it sets something itself, and no log, store or setting of another
    test.
    """
    # Torch's own tools take up to a minute per report; what tests them asks for them.
    monkeypatch.setenv("BUGREPORT_EVIDENCE", "0")
    for name in _HOMES:
        monkeypatch.setenv(name, str(tmp_path / "no-such-home" / name))


def python_in(environment: str) -> Path:
    """Where an interpreter is looked for.

    The environments are sub-folders of BUGREPORT_TEST_ENVS, by default ~/.cache/bugreport-eval.
    """
    home = Path(os.environ.get("BUGREPORT_TEST_ENVS") or "~/.cache/bugreport-eval").expanduser()
    return home / environment / "bin" / "python"


@pytest.fixture
def release_python() -> Callable[[str], Path]:
    """The interpreter of an environment such as "v26"; skips the test where there is none."""

    def python_of(name: str) -> Path:
        python = python_in(name)
        if not python.exists():
            pytest.skip(
                f"no interpreter with torch {RELEASES[name]} at {python}; set BUGREPORT_TEST_ENVS"
            )
        return python

    return python_of


@pytest.fixture(scope="session")
def models_python() -> Path:
    """An interpreter with torch 2.13.0 and transformers; skips the test where there is none."""
    python = python_in("models")
    if not python.exists():
        pytest.skip(f"no interpreter with transformers at {python}; set BUGREPORT_TEST_ENVS")
    found = subprocess.run(
        [python, "-c", "import transformers, torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
    )
    if not found.stdout.startswith(RELEASES["v213"]):
        pytest.skip(f"{python} does not have transformers and torch {RELEASES['v213']}")
    return python

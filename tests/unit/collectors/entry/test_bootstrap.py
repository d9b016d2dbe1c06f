"""A program that never imports torch runs to its end without it, and the host hears of that."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.entry import bootstrap
from collectors.protocol.starting import RerunProgramSpec, WatchedProgramSpec
from tests.support.scripts import script

FOLDER = Path(bootstrap.__file__).parent
_STOOD_ASIDE = "[] True\n"


def run(spec: Mapping[str, Any], folder: Path, *descriptors: int) -> str:
    """What a program says that imports the hook and not torch, started as `spec` tells."""
    (folder / "spec.json").write_text(json.dumps(spec))
    start = (FOLDER / "bootstrap.py", folder / "spec.json", script("hook/without_torch"))
    env = {**os.environ, "PYTHONPATH": str(FOLDER.parent / "hook")}
    done = subprocess.run(
        [sys.executable, *map(str, start)],
        env=env,
        capture_output=True,
        text=True,
        pass_fds=descriptors,
        check=True,
    )
    return done.stdout


def test_the_package_is_loaded_without_a_trace_on_the_path() -> None:
    before = list(sys.path)
    try:
        bootstrap.load_package()
        module = sys.modules[bootstrap.PACKAGE]
        assert list(module.__path__) == [str(FOLDER.parent)]
        assert sys.path == before and module.__name__ != "collectors"
    finally:
        sys.modules.pop(bootstrap.PACKAGE, None)


def test_it_is_recorded(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        host.bind(str(tmp_path / "s"))
        host.listen()
        spec: WatchedProgramSpec = {
            "kind": "script",
            "socket": str(tmp_path / "s"),
            "folder": str(tmp_path),
        }
        assert run(spec, tmp_path) == _STOOD_ASIDE
        connection, _ = host.accept()
        with connection, connection.makefile() as messages:
            greeting, finished = map(json.loads, messages)
    assert greeting["role"] == "script"
    assert finished["event"] == "finished" and finished["exit"] == 0
    assert finished["calls"] == finished["dynamo"]["recompiles"] == 0


def test_it_is_run_again(tmp_path: Path) -> None:
    """Nothing is said to the host: it sees that the program is gone."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            spec: RerunProgramSpec = {
                "kind": "script",
                "folder": str(tmp_path),
                "descriptor": theirs.fileno(),
                "call": 0,
                "kept": "",
            }
            assert run(spec, tmp_path, theirs.fileno()) == _STOOD_ASIDE
        assert ours.recv(1) == b""

"""What is said about the machine: quick, complete enough, and without a name of anybody. Runs where torch is."""

from __future__ import annotations

import getpass
import importlib.util
import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from templates.versions import versions_block

COLLECTORS = Path(__file__).parent.parent / "collectors"
PROBE = f"""
import importlib, json, sys, time, types
import torch
package = types.ModuleType("_probe"); package.__path__ = [{str(COLLECTORS)!r}]; sys.modules["_probe"] = package
module = importlib.import_module("_probe.environment")
def timed(function):
    begin = time.perf_counter()
    value = function()
    return value, time.perf_counter() - begin
"""
BODY = """
import torch._dynamo, torch._inductor.config, torch._functorch.config
before = module.environment()
torch._inductor.config.fallback_random = True
torch._inductor.config.triton.cudagraphs = not torch._inductor.config.triton.cudagraphs
torch._dynamo.config.debug_dir_root = "/home/somebody/secret"
env, seconds = timed(module.environment)
words, word_seconds = timed(module.vocabulary)
print(json.dumps({"before": before["configs"], "env": env, "seconds": seconds, "words": words,
                  "word_seconds": word_seconds, "internals": len(module.internals())}))
"""


def probe(python: Path, tmp_path: Path, body: str = BODY, **variables: str) -> dict[str, Any]:
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), **variables}
    done = subprocess.run(
        [python, "-c", PROBE + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def check(found: dict[str, Any]) -> None:
    env = found["env"]
    assert found["seconds"] < 2.0 and found["word_seconds"] < 0.5
    assert found["before"] == {}
    assert env["configs"] == {
        "torch._dynamo.config.debug_dir_root": "<set>",
        "torch._inductor.config.fallback_random": True,
        "torch._inductor.config.triton.cudagraphs": True,
    }
    assert env["python"].count(".") == 2 and env["cores"] >= 1 and env["os"]
    assert {"relu", "Linear", "bfloat16", "kernel_size", "fallback_random", "cholesky"} <= set(
        found["words"]
    )
    assert found["internals"] > 1000
    text = json.dumps(env) + versions_block(env)
    for private in ("/home", "secret", str(Path.home()), socket.gethostname(), getpass.getuser()):
        if len(private) > 2 and private not in ("root", "user", "localhost"):
            assert private not in text


def test_this_interpreter(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    check(probe(Path(sys.executable), tmp_path))


@pytest.mark.releases
@pytest.mark.parametrize("release", ["v20", "v26", "v215"])
def test_other_releases(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    check(probe(release_python(release), tmp_path))


def test_variables_by_allow_list_and_harmless_value(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    found = probe(
        Path(sys.executable),
        tmp_path,
        "print(json.dumps(module.environment()))",
        OMP_NUM_THREADS="3",
        TORCH_COMPILE_DEBUG="/data/secret/x",
        MY_API_TOKEN="abc",
        CXX="/opt/secret-toolchain/bin/g++",
    )
    assert found["variables"]["OMP_NUM_THREADS"] == "3"
    assert found["variables"]["TORCH_COMPILE_DEBUG"] == "<set>"
    assert "secret" not in json.dumps(found) and "MY_API_TOKEN" not in json.dumps(found)

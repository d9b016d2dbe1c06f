"""What is said about the machine: quick, complete enough, and without a name of anybody. Runs where torch is."""

from __future__ import annotations

import getpass
import importlib.util
import json
import os
import re
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


BESIDE = """
from torch.utils import collect_env
env, seconds = timed(module.environment)
theirs, their_seconds = timed(collect_env.get_env_info)
print(json.dumps({"env": env, "seconds": seconds, "theirs": theirs._asdict(), "their_seconds": their_seconds}))
"""


def _packages(listing: str) -> dict[str, str]:
    found = re.findall(r"^(?:\[\w+\] )?([\w.-]+)==(\S+)$", listing or "", re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def _cpu(env: dict[str, Any], theirs: str) -> bool:
    """lscpu's lines, as far as they decide what is compiled."""
    lines = dict(re.findall(r"^\s*([^:\n]+?):\s*(.*)$", theirs, re.MULTILINE))
    flags = set(env["processor"]["flags"].split())
    vector = {flag for flag in lines["Flags"].split() if re.match(r"avx|amx|fma|f16c", flag)}
    return (
        env["machine"] == lines["Architecture"]
        and env["cpu"] == lines["Model name"]
        and str(env["cores"]) == lines["CPU(s)"]
        and env["processor"]["vendor"] == lines["Vendor ID"]
        and env["processor"]["family"] == lines["CPU family"]
        and env["processor"]["stepping"] == lines["Stepping"]
        and str(env["processor"]["nodes"]) == lines["NUMA node(s)"]
        and env["processor"]["virtual"] == ("Hypervisor vendor" in lines)
        and vector <= flags <= set(lines["Flags"].split())
    )


def _same(ours: object, theirs: object) -> bool:
    missing = (None, "N/A", "Could not collect", "", "None")
    return str(ours) == str(theirs) or (ours in missing and theirs in missing)


#: What `torch.utils.collect_env` says, and whether we say the same. A field that a release adds is a failure of the test.
FIELDS: dict[str, Callable[[dict[str, Any], Any], bool]] = {
    "torch_version": lambda env, said: _same(env["torch"], said),
    "is_debug_build": lambda env, said: _same(env["debug"], said),
    "cuda_compiled_version": lambda env, said: _same(env["cuda"], said),
    "hip_compiled_version": lambda env, said: _same(env["hip"], said),
    "rocm_compiled_version": lambda env, said: _same(env["rocm"].get("ROCm"), said),
    "hip_runtime_version": lambda env, said: _same(env["rocm"].get("HIP Runtime"), said),
    "miopen_runtime_version": lambda env, said: _same(env["rocm"].get("MIOpen"), said),
    "gcc_version": lambda env, said: _same(env["tools"]["gcc"], said),
    "clang_version": lambda env, said: _same(
        env["tools"]["clang"], said and said.split()[-1]  # theirs has the distribution before it
    ),
    "cmake_version": lambda env, said: _same(
        env["tools"]["cmake"], (said or "").replace("version ", "")
    ),
    "os": lambda env, said: env["os"].partition(" (Linux")[0] == said.rpartition(" (")[0],
    "libc_version": lambda env, said: _same(env["libc"], said),
    "python_version": lambda env, said: said.startswith(env["python"])
    and env["python_compiler"] in said
    and f"({env['bits']}-bit runtime)" in said,
    "python_platform": lambda env, said: said.startswith("Linux-")
    and re.findall(r"[\d.]+", env["os"])[-1].rstrip(".") in said
    and env["machine"] in said
    and env["libc"].replace("-", "") in said.replace("-", ""),
    "is_cuda_available": lambda env, said: _same(env["cuda_available"], said),
    "is_xpu_available": lambda env, said: _same(env["xpu_available"], said),
    "cuda_runtime_version": lambda env, said: _same(env["tools"]["nvcc"], said),
    "cuda_module_loading": lambda env, said: _same(
        env["variables"].get("CUDA_MODULE_LOADING"), said
    ),
    "nvidia_driver_version": lambda env, said: _same(env["driver"], said),
    "nvidia_gpu_models": lambda env, said: _same("; ".join(env["gpus"]), said),
    "cudnn_version": lambda env, said: _same(env["cudnn"], said),
    "pip_version": lambda env, said: said is None or said.startswith("pip") and bool(env["pip"]),
    # pip names what it was installed as; what this interpreter imports is what counts
    "pip_packages": lambda env, said: _packages(said).items() <= env["packages"].items(),
    "conda_packages": lambda env, said: _packages(said).items() <= env["conda"].items(),
    "caching_allocator_config": lambda env, said: _same(
        env["variables"].get("PYTORCH_CUDA_ALLOC_CONF"), said or None
    ),
    "is_xnnpack_available": lambda env, said: _same("XNNPACK" in env["libraries"], said),
    "cpu_info": lambda env, said: _cpu(env, said),
}


def check_superset(python: Path, tmp_path: Path) -> None:
    """Every field of collect_env is among ours with the same value, and ours took a fraction of its time."""
    found = probe(python, tmp_path, BESIDE)
    told = {
        name: value
        for name, value in found["theirs"].items()
        if not FIELDS[name](found["env"], value)
    }
    assert told == {}
    assert found["seconds"] < 2.0


def test_a_superset_of_collect_env(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    check_superset(Path(sys.executable), tmp_path)


@pytest.mark.releases
@pytest.mark.parametrize("release", ["v20", "v26", "v215"])
def test_a_superset_of_collect_env_on_other_releases(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    check_superset(release_python(release), tmp_path)


def test_packages_are_those_of_a_public_list(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    for name in ("acme_torch", "torch_acme", "torchmetrics"):
        folder = tmp_path / "site" / f"{name}-1.2.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2+acme.7\n"
        )
    found = probe(
        Path(sys.executable),
        tmp_path,
        "print(json.dumps(module.environment()))",
        PYTHONPATH=str(tmp_path / "site"),
    )
    assert found["packages"]["torchmetrics"] == "1.2+custom"
    assert "acme" not in json.dumps(found)


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

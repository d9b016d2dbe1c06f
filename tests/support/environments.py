"""Asking an interpreter what is said about its machine, and holding the answer against what it must
and must not hold.
"""

from __future__ import annotations

import getpass
import json
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reporter.report.environment import build_public_environment
from templates.versions import render_versions
from tests.support.places import ROOT
from tests.support.scripts import text

#: What may be asked besides this process: a compiler's own version is nowhere else.
TOOLS = {"g++", "gcc", "clang", "cmake", "nvcc", "ldconfig", "nvidia-smi"}


def probe(python: Path, body: str, *arguments: str | Path) -> dict[str, Any]:
    """What a program of tests/data/scripts/environment prints in its last line."""
    program = text("environment/prelude") + text(f"environment/{body}")
    words = ["-c", program, str(ROOT / "collectors"), *map(str, arguments)]
    done = subprocess.run([python, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def check_cost(cost: dict[str, Any]) -> None:
    """Under two seconds, as far as that does not depend on the machine.

    That is: less than a second's worth of calls, each tool asked once, and all of them together for
    less than one.
    """
    assert cost["calls"] < 1_500_000
    assert len(set(cost["programs"])) == len(cost["programs"])
    assert set(cost["programs"]) <= TOOLS and cost["limit"] < 1.0


def check_settings(python: Path) -> None:
    """Changed settings are told with harmless values, next to all the words of torch, and nobody is
    named.
    """
    found = probe(python, "changed_settings")
    env = found["env"]
    check_cost(found["cost"])
    assert found["cost_of_words"]["calls"] < 400_000 and not found["cost_of_words"]["programs"]
    assert found["before"] == {}
    assert env["configs"] == {
        "torch._dynamo.config.debug_dir_root": "(changed)",
        "torch._inductor.config.fallback_random": True,
        "torch._inductor.config.triton.cudagraphs": True,
    }
    assert env["python"].count(".") == 2 and env["cores"] >= 1 and env["os"]
    assert {"relu", "Linear", "bfloat16", "kernel_size", "fallback_random", "cholesky"} <= set(
        found["words"]
    )
    assert found["internals"] > 1000
    left = build_public_environment(env)
    text = json.dumps(left) + render_versions(left)
    for private in ("/home", "secret", str(Path.home()), socket.gethostname(), getpass.getuser()):
        if len(private) > 2 and private not in ("root", "user", "localhost"):
            assert private not in text


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


#: What `torch.utils.collect_env` says, and whether we say the same. A field that a release adds is
#: a failure of the test.
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


def check_superset(python: Path) -> None:
    """Every field of collect_env is among ours with the same value, and ours cost a fraction of its
    time.
    """
    found = probe(python, "beside_collect_env")
    told = {
        name: value
        for name, value in found["theirs"].items()
        if not FIELDS[name](found["env"], value)
    }
    assert told == {}
    check_cost(found["cost"])

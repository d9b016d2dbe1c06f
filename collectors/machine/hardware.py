"""The computer below torch: system, processor, toolchain.

All of the tools are asked at the same time, for at most 0.8 s.

What Linux tells in files is read from files; only a compiler's own version needs its process.
"""

from __future__ import annotations

import contextlib
import glob
import os
import platform
import re
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Sequence

import torch

from ..protocol.environment import ProcessorFacts

SUBPROCESS_SECONDS = 0.8
#: The flags of a processor that decide what inductor can vectorize for.
_VECTOR_FLAGS = re.compile(
    r"sse4_2|avx2?|fma|f16c|avx512\w*|avx_\w+|amx\w*|asimd\w*|sve\w*|fphp|bf16|i8mm|vsx|vx"
)


def read_operating_system() -> str:
    """The operating system with the release of its kernel."""
    if sys.platform.startswith("linux"):
        found = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.MULTILINE)
        name = found.group(1).strip() if found else "Linux"
        return name + " (Linux " + platform.release() + ")"
    if sys.platform == "darwin":
        return "macOS " + platform.mac_ver()[0]
    return (platform.system() + " " + platform.release()).strip()


def read_cpu() -> ProcessorFacts:
    """The processor as lscpu has it, as far as a compiler cares; vulnerabilities and serial numbers
    are left out.
    """
    text = _read("/proc/cpuinfo").partition("\n\n")[0]
    facts = {
        key.strip().lower(): value.strip()
        for key, _, value in (line.partition(":") for line in text.splitlines())
    }
    flags = (facts.get("flags") or facts.get("features") or "").split()
    fallback = None if sys.platform.startswith("linux") else platform.processor() or None
    return {
        "model": facts.get("model name") or facts.get("cpu model") or fallback,
        "vendor": facts.get("vendor_id") or facts.get("cpu implementer"),
        "family": facts.get("cpu family") or facts.get("cpu architecture"),
        "number": facts.get("model") or facts.get("cpu part"),
        "stepping": facts.get("stepping") or facts.get("cpu revision"),
        "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "caches": _read_cpu_caches(),
        "nodes": len(glob.glob("/sys/devices/system/node/node[0-9]*")) or None,
        "virtual": "hypervisor" in flags,
        "flags": " ".join(flag for flag in flags if _VECTOR_FLAGS.fullmatch(flag)),
    }


def _read_cpu_caches() -> Dict[str, str]:
    """Sizes of the first processor's caches, `L1d` -> `48K`."""
    found = {}
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index[0-9]")):
        level, kind, size = (
            _read(os.path.join(folder, name)).strip() for name in ("level", "type", "size")
        )
        if level and size:
            found["L" + level + {"Data": "d", "Instruction": "i"}.get(kind, "")] = size
    return found


def read_cpu_capability() -> Optional[str]:
    """The instruction set torch dispatches on.

    Asked by name since 2.1, before that read from its build settings.
    """
    with contextlib.suppress(AttributeError, RuntimeError):
        return str(torch.backends.cpu.get_cpu_capability())
    found = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
    return found.group(1) if found else None


def read_vector_isa() -> Optional[str]:
    """The instruction set inductor vectorizes for, where this process has chosen it; choosing
    compiles test programs.
    """
    for name in ("torch._inductor.cpu_vec_isa", "torch._inductor.codecache"):
        module = sys.modules.get(name)
        chosen = getattr(module, "valid_vec_isa_list", None)
        with contextlib.suppress(Exception):  # it is Inductor's own, and may start a compiler
            if chosen is not None and chosen.cache_info().currsize:
                isa = str(module.pick_vec_isa())  # type: ignore[union-attr]
                return "none" if isa in ("", "INVALID_VEC_ISA") else isa
    return None


def collect_tool_versions() -> Dict[str, Optional[str]]:
    """Versions by tool; None where it does not start. `compiler` is the one inductor calls."""
    chosen = _find_inductor_compiler()
    wanted: Dict[str, Sequence[str]] = {
        "compiler": [chosen, "--version"],
        "gcc": ["gcc", "--version"],
        "clang": ["clang", "--version"],
        "cmake": ["cmake", "--version"],
        "nvcc": ["nvcc", "--version"],
        "cudnn": [_find_ldconfig(), "-p"],
    }
    said = _ask(wanted)
    return {
        "compiler": _read_family(said["compiler"]),
        "gcc": _read_gcc(said["gcc"]),
        "clang": _find_first(r"clang version (\S+)", said["clang"]),
        "cmake": _find_first(r"cmake version (\S+)", said["cmake"]),
        "nvcc": _find_first(r"release .+ V(\S+)", said["nvcc"]),
        "cudnn": _read_cudnn_versions(said["cudnn"]),
    }


#: What a compiler says of itself in `--version`, and its family.
_FAMILIES = (
    (r"Intel\(R\) oneAPI DPC\+\+/C\+\+ Compiler (\d+[\d.]*)", "icpx"),
    (r"clang version (\d+[\d.]*)", "clang"),
    (r"Optimizing Compiler Version (\d+[\d.]*)", "cl"),
    (r"^nvc\+\+ (\d+[\d.]*)", "nvc++"),
)


def _read_family(said: str) -> Optional[str]:
    """The family and the release of a compiler by what it prints; None where it does not start.

    GCC names itself by its file, so it is known by its copyright.
    """
    for pattern, family in _FAMILIES:
        found = re.search(pattern, said, re.MULTILINE)
        if found:
            return family + " " + found.group(1)
    number = re.search(r"\s(\d+\.[\d.]+)", said.partition(")")[2] or said)
    if "Free Software Foundation" in said and number:
        return "g++ " + number.group(1)
    number = number or re.search(r"\d+\.[\d.]+", said)
    return "another " + number.group().strip() if number else None


def _read_gcc(said: str) -> Optional[str]:
    """As collect_env has it, `(Debian 12.2.0-14+deb12u1) 12.2.0`."""
    line = said.partition("\n")[0]
    version = re.search(r"\s(\d+\.[\d.]+)", line.partition(")")[2] or line)
    builder = re.search(r"\(([^()]+)\)", line)
    if not version:
        return None
    return ("(" + builder.group(1) + ") " if builder else "") + version.group(1)


def _find_inductor_compiler() -> str:
    with contextlib.suppress(KeyError, AttributeError, StopIteration):
        configured = sys.modules["torch._inductor.config"].cpp.cxx
        names = configured if isinstance(configured, (tuple, list)) else (configured,)
        return str(next(name for name in names if name))
    return os.environ.get("CXX") or "g++"


def _find_ldconfig() -> str:
    return next((path for path in ("/sbin/ldconfig",) if os.path.exists(path)), "ldconfig")


def _read_cudnn_versions(listing: str) -> Optional[str]:
    """The versions of the cuDNN libraries that the linker knows; their folders are nobody's
    business.
    """
    found = set()
    for path in re.findall(r"=> (\S*libcudnn\.so\S*)", listing):
        version = re.search(r"libcudnn\.so\.([\d.]+)$", os.path.realpath(path))
        if version:
            found.add(version.group(1))
    return ", ".join(sorted(found)) or None


def _find_first(pattern: str, text: str) -> Optional[str]:
    """The first group of a match."""
    found = re.search(pattern, text)
    return found.group(1).strip() if found else None


def _ask(commands: Dict[str, Sequence[str]]) -> Dict[str, str]:
    """What each command prints, started side by side; an empty text for what is missing or slow."""
    started: Dict[str, Any] = {}
    for name, command in commands.items():
        with contextlib.suppress(OSError, ValueError):
            started[name] = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C"},
            )
    answers: Dict[str, str] = dict.fromkeys(commands, "")
    deadline = time.monotonic() + SUBPROCESS_SECONDS
    for name, process in started.items():
        try:
            out, _ = process.communicate(timeout=max(0.01, deadline - time.monotonic()))
            answers[name] = out.decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    return answers


def list_torch_libraries() -> List[str]:
    """What torch was built with, by name: a switched-off oneDNN or OpenMP explains many a
    difference.
    """
    found = []
    for name, attribute in (("MKL", "mkl"), ("oneDNN", "mkldnn"), ("OpenMP", "openmp")):
        with contextlib.suppress(Exception):  # a backend may be missing, or its library
            if getattr(torch.backends, attribute).is_available():
                found.append(name)
    with contextlib.suppress(AttributeError):
        if torch._C._is_xnnpack_enabled():
            found.append("XNNPACK")
    return found


def _read(path: str) -> str:
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="replace") as source:
            return source.read()
    return ""

"""An honest machine's facts, and the same with a canary in every place that holds a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: A word that is in no vocabulary.
CANARY = "falconridge"

#: What the collectors report on an ordinary machine with a GPU.
HONEST: dict[str, Any] = {
    "torch": "2.13.0+cu126",
    "git": "cf30153c4c131c8164ee7798e5022d810682e2cb",
    "debug": False,
    "cuda": "12.6",
    "hip": None,
    "xpu": None,
    "python": "3.11.7",
    "python_compiler": "GCC 12.2.0",
    "implementation": "CPython",
    "bits": 64,
    "os": "Debian GNU/Linux 12 (bookworm) (Linux 6.1.0)",
    "machine": "x86_64",
    "libc": "glibc-2.36",
    "cpu": "Intel(R) Xeon(R) Platinum 8488C",
    "processor": {
        "model": "Intel(R) Xeon(R) Platinum 8488C",
        "vendor": "GenuineIntel",
        "caches": {"L1d": "48K", "L2": "2048K"},
        "flags": "fma sse4_2 avx2 avx512f avx512_bf16 amx_tile",
        "virtual": True,
        "family": "6",
        "number": "143",
        "stepping": "8",
        "usable": 2,
        "nodes": 1,
    },
    "cores": 2,
    "threads": 2,
    "cpu_capability": "AVX512",
    "vector_isa": "avx512",
    "compiler": "g++ 12.2.0",
    "tools": {
        "clang": "14.0.6",
        "cmake": "3.25.1",
        "nvcc": "12.6.85",
        "gcc": "(Debian 12.2.0-14+deb12u1) 12.2.0",
        "compiler": "g++ 12.2.0",
        "cudnn": "9.5.1",
    },
    "cuda_available": True,
    "gpus": ["NVIDIA H100 80GB HBM3"],
    "driver": "560.35.03",
    "cudnn": 90501,
    "rocm": {"HIP Runtime": "6.4.43482", "MIOpen": "3.4.0", "ROCm": "6.4.0"},
    "xpu_available": False,
    "libraries": ["MKL", "oneDNN", "OpenMP"],
    "pip": "25.0.1",
    "packages": {"numpy": "2.4.6", "torch": "2.13.0+cu126", "torchvision": "0.28.0+cu126"},
    "conda": {"pytorch": "2.13.0", "mkl": "2024.2.2"},
    "triton": {"version": "3.9.0", "backends": ["amd", "nvidia"], "interpret": False},
    "variables": {"OMP_NUM_THREADS": "1", "TORCH_LOGS": "+dynamo"},
    "configs": {"torch._inductor.config.fallback_random": True},
    "choices": [],
    "caches": {"fx_graph_cache": True},
}


def canaries(value: Any) -> Iterator[Any]:
    """A fact with the canary in its place, behind it, before it and inside: one place at a time.

    Variables and settings are built by the target, so here only their names are tried.
    """
    if isinstance(value, dict):
        yield {**value, CANARY: "1"}
        yield {**value, f"{CANARY}_cache": f"1.2+{CANARY}"}
        for key, item in value.items():
            if not key.isupper() and not key.startswith("torch."):
                yield from ({**value, key: spoiled} for spoiled in canaries(item))
    elif isinstance(value, list):
        yield [*value, CANARY]
        for number, item in enumerate(value):
            for spoiled in canaries(item):
                yield [*value[:number], spoiled, *value[number + 1 :]]
    elif isinstance(value, str):
        yield CANARY
        for joint in (" ", "-", ".", "+", "_", "/", ""):
            yield value + joint + CANARY
            yield CANARY + joint + value
        yield value.replace(" ", f" {CANARY} ", 1)[:1] + CANARY + value[1:]
        yield f"{value} ({CANARY})"
    else:
        yield CANARY
        yield f"{value}{CANARY}"

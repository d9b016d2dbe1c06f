"""Environment variables that decide how torch and its compilers work, each with the values that may
leave.

A value is taken apart at its separators. What is a number, a yes or no, or a word that is
registered for the variable stays; anything else reads `(set)`. For torch's own variables the words
are those that torch has registered: names of logs, and texts that its configuration files spell
out.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import Dict, FrozenSet, Iterator, Mapping

import torch

#: What is said of a value that may not leave.
_HIDDEN = "(set)"
#: Numbers, and what programs read as yes or no.
_PLAIN = re.compile(
    r"[+-]?\d{1,12}(?:\.\d{1,6})?|true|false|yes|no|on|off|none|auto|default", re.IGNORECASE
)
_PARTS = re.compile(r"([,:=;|\s]+)")
_ISA = (
    "SSE41 AVX AVX2 AVX2_VNNI AVX2_VNNI_2 AVX512_CORE AVX512_CORE_VNNI AVX512_CORE_BF16"
    " AVX512_CORE_FP16 AVX512_CORE_AMX AVX512_CORE_AMX_FP16 AVX10_1_512 AVX10_1_512_AMX"
)
_ALLOCATOR = (
    "max_split_size_mb roundup_power2_divisions garbage_collection_threshold expandable_segments"
    " backend native cudaMallocAsync pinned_use_cuda_host_register pinned_num_register_threads"
    " pinned_reserve_segment_size_mb pinned_use_background_threads release_lock_on_cudamalloc"
    " graph_capture_record_stream_reuse per_process_memory_fraction"
)
_AFFINITY = (
    "granularity fine core thread tile die node group socket numa compact scatter balanced disabled"
    " explicit logical physical respect norespect verbose noverbose warnings nowarnings reset"
    " noreset proclist"
)
#: Variables of other projects, with the words that their documents list.
WORDS: Mapping[str, str] = {
    "OMP_NUM_THREADS": "",
    "OMP_DYNAMIC": "",
    "OMP_NESTED": "",
    "OMP_PROC_BIND": "close spread master primary",
    "OMP_WAIT_POLICY": "active passive",
    "OMP_PLACES": "threads cores sockets ll_caches numa_domains",
    "OMP_SCHEDULE": "static dynamic guided",
    "MKL_NUM_THREADS": "",
    "MKL_DYNAMIC": "",
    "MKL_VERBOSE": "",
    "MKL_THREADING_LAYER": "INTEL GNU SEQUENTIAL TBB PGI",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2 AVX AVX2 AVX512 AVX512_E1 AVX512_E2",
    "KMP_AFFINITY": _AFFINITY,
    "KMP_BLOCKTIME": "infinite",
    "KMP_DUPLICATE_LIB_OK": "",
    "KMP_SETTINGS": "",
    "KMP_INIT_AT_FORK": "",
    "KMP_LIBRARY": "throughput turnaround serial",
    "KMP_HW_SUBSET": "",
    "ATEN_CPU_CAPABILITY": "avx2 avx512 vsx zvector sve sve256",
    "ONEDNN_VERBOSE": "error check profile profile_create profile_exec dispatch all warn",
    "ONEDNN_MAX_CPU_ISA": _ISA,
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "",
    "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT BF16 F16 TF32 ANY",
    "CUDA_LAUNCH_BLOCKING": "",
    "CUDA_VISIBLE_DEVICES": "",
    "CUDA_MODULE_LOADING": "LAZY EAGER",
    "HIP_VISIBLE_DEVICES": "",
    "NVIDIA_TF32_OVERRIDE": "",
    "PYTORCH_ALLOC_CONF": _ALLOCATOR,
    "PYTORCH_CUDA_ALLOC_CONF": _ALLOCATOR,
    "PYTORCH_HIP_ALLOC_CONF": _ALLOCATOR,
    "CUBLAS_WORKSPACE_CONFIG": "",
    "TRITON_INTERPRET": "",
    "TRITON_DEBUG": "",
    "TRITON_DISABLE_LINE_INFO": "",
    "TRITON_ALWAYS_COMPILE": "",
    "TRITON_DEFAULT_FP_FUSION": "",
    "TRITON_F32_DEFAULT": "ieee tf32 tf32x3",
    "PYTHONHASHSEED": "random",
    "PYTHONOPTIMIZE": "",
}
#: Variables that torch reads elsewhere than in its configuration files.
_TORCH = frozenset("""
    TORCH_LOGS TORCH_SHOW_CPP_STACKTRACES TORCH_CUDNN_SDPA_ENABLED TORCH_CUDNN_V8_API_DISABLED
    TORCH_CUDNN_V8_API_DEBUG TORCH_CUDNN_USE_HEURISTIC_MODE_B TORCH_COMPILE_DEBUG
    TORCH_COMPILE_DISABLE TORCH_COMPILE_BACKEND TORCH_COMPILE_CPROFILE
    TORCH_COMPILE_STROBELIGHT TORCH_COMPILE_DYNAMO_PROFILER TORCH_COMPILE_STRICT_PRECOMPILE
    TORCHDYNAMO_DISABLE TORCHDYNAMO_VERBOSE TORCHDYNAMO_REPRO_AFTER TORCHDYNAMO_REPRO_LEVEL
    TORCHINDUCTOR_VEC_ISA_OK TORCHINDUCTOR_DUMP_LAUNCH_PARAMS TORCHINDUCTOR_WORKER_START
    TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE
    """.split())
_TORCH_VARIABLE = re.compile(
    r"TORCH_LOGS|TORCH_SHOW_\w+|TORCH(?:DYNAMO|INDUCTOR|_COMPILE|_CUDNN)_[A-Z0-9_]+"
)
_HOLDS_PATH = re.compile(r"_(?:DIR|PATH|FILE|URL|HOST|ROOT)$")
_CONFIG_FILES = (
    ("_dynamo", "config.py"),
    ("_inductor", "config.py"),
    ("_functorch", "config.py"),
    ("compiler", "config.py"),
    ("_dynamo", "debug_utils.py"),
)
_LITERAL = re.compile(r"[\"']([\w.+-]{1,60})[\"']")


def read_variables() -> Dict[str, str]:
    """The variables that are set, by name; those that hold places are left out."""
    return {
        name: _filter_value(name, value)
        for name, value in sorted(os.environ.items())
        if (name in WORDS or _is_torch_variable(name)) and not _HOLDS_PATH.search(name)
    }


def read_literals(*path: str) -> FrozenSet[str]:
    """The texts that a file of torch's sources spells out; empty where it is not there."""
    place = os.path.join(os.path.dirname(torch.__file__), *path)
    try:
        with open(place, encoding="utf-8") as source:
            return frozenset(_LITERAL.findall(source.read()))
    except OSError:
        return frozenset()


@functools.lru_cache(maxsize=1)
def _list_torch_texts() -> FrozenSet[str]:
    return frozenset().union(*(read_literals(*path) for path in _CONFIG_FILES))


def _is_torch_variable(name: str) -> bool:
    return _TORCH_VARIABLE.fullmatch(name) is not None and (
        name in _TORCH or name in _list_torch_texts()
    )


def _filter_value(name: str, value: str) -> str:
    """The value made of its parts that may leave; neighboring parts that may not become one."""
    if name == "CUDA_VISIBLE_DEVICES" and not value:
        return ""
    known = _find_registered(name)
    built = [
        part if _PARTS.fullmatch(part) or _may_leave(part, known) else _HIDDEN
        for part in _PARTS.split(value)
        if part
    ]
    return "".join(built)[:200] if len(built) <= 40 else _HIDDEN


def _may_leave(part: str, known: FrozenSet[str]) -> bool:
    return _PLAIN.fullmatch(part) is not None or part in known or part.lstrip("+-") in known


def _find_registered(name: str) -> FrozenSet[str]:
    if name == "TORCH_LOGS":
        return frozenset(_list_log_names())
    if name in WORDS:
        words = WORDS[name].split()
        return frozenset(words) | frozenset(word.lower() for word in words)
    return _list_torch_texts()


def _list_log_names() -> Iterator[str]:
    """The logs and artifacts that torch has registered; a program may register others, in modules
    of its own, by their dotted names.
    """
    yield from ("all", "help")
    registry = getattr(sys.modules.get("torch._logging._internal"), "log_registry", None)
    for name, modules in dict(getattr(registry, "log_alias_to_log_qnames", {})).items():
        named = (modules,) if isinstance(modules, str) else modules
        if all(str(module).partition(".")[0] == "torch" for module in named):
            yield name
    yield from (name for name in list(sys.modules) if name.partition(".")[0] == "torch")
    known = read_literals("_logging", "_registrations.py")
    yield from (name for name in getattr(registry, "artifact_names", ()) if name in known)

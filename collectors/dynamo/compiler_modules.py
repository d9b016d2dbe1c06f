"""What a first compile imports and asks the machine: seconds that each fork of a process would
spend anew.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator

_NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"
_INDUCTOR = "torch._inductor.compile_fx"
#: Where releases of Triton have `triton_key`.
_TRITON = ("triton.compiler.compiler", "triton.runtime.cache")


def import_compiler(inductor: bool, compiles_checks: bool = False) -> None:
    """Imports what a first compile of this process would, and starts no process that stays, no
    thread and no compile of a program.

    Args:
        inductor: whether the first compile is one of Inductor's. Its modules come with it, and the
            vector units that it finds, if `TORCHINDUCTOR_CACHE_DIR` has been filled with the checks
            for them: each check starts several processes, and takes ten seconds where it has to be
            compiled.
        compiles_checks: the checks are compiled where they are not there.
    """
    with _ask_driver_alone():
        importlib.import_module("torch._dynamo")  # which an import of torch leaves to the first use
        with contextlib.suppress(Exception):  # a torch without it, or built without its parts
            _import_local_map()
        if inductor:
            with contextlib.suppress(Exception):  # a torch or a machine that cannot compile
                _import_inductor(compiles_checks)


@contextlib.contextmanager
def _ask_driver_alone() -> Iterator[None]:
    """Whether there is a GPU is asked of the driver: a process that has asked CUDA's runtime cannot
    use it in its forks (torch/cuda/__init__.py, `_nvml_based_avail`).
    """
    before = os.environ.get(_NVML)
    os.environ[_NVML] = "1"
    try:
        yield
    finally:
        os.environ.pop(_NVML)
        if before is not None:
            os.environ[_NVML] = before


def _import_local_map() -> None:
    """Import what Dynamo asks of the first function of torch that it meets, from torch 2.9 on: is
    it wrapped for distributed tensors (`LocalMapWrappedHigherOrderVariable.should_wrap_in_hop`)?
    """
    operators = importlib.import_module("torch._dynamo.variables.higher_order_ops")
    asks = getattr(operators, "LocalMapWrappedHigherOrderVariable", None)
    if asks is not None:
        asks.should_wrap_in_hop(None)


def _import_inductor(compiles_checks: bool) -> None:
    config, setting = importlib.import_module("torch._inductor.config"), "compile_threads"
    threads = getattr(config, setting)
    setattr(config, setting, 1)  # else the import starts processes, and a thread that reads them
    try:
        importlib.import_module(_INDUCTOR)
    finally:
        setattr(config, setting, threads)
    codecache = importlib.import_module("torch._inductor.codecache")
    owner = sys.modules.get("torch._inductor.cpu_vec_isa", codecache)
    if compiles_checks or os.listdir(os.environ["TORCHINDUCTOR_CACHE_DIR"]):
        owner.pick_vec_isa()
    # hashes of torch's and Triton's own files, which are part of all keys of the compiler's caches
    triton = (sys.modules.get(name) for name in _TRITON)
    for hash_files in [getattr(codecache, "torch_key", None)] + [
        getattr(module, "triton_key", None) for module in triton
    ]:
        if hash_files is not None:
            hash_files()

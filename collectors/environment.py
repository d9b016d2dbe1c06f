"""What a maintainer needs to know about the machine, in under two seconds and without naming anyone.

`torch.utils.collect_env` asks pip, conda, lscpu and nvidia-smi and takes seconds; it leaves out what decides most
compiler bugs (non-default configurations, the chosen C++ compiler, the instruction set). Here everything is read
in-process, with at most one short subprocess. No value that may hold a path, a host or a person is passed on: a
setting is shown only when its name is on an allow-list *and* its value looks harmless.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.machinery
import importlib.util
import inspect
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

from .vocabulary import internals, vocabulary

__all__ = ["configs", "environment", "internals", "vocabulary"]

SUBPROCESS_SECONDS = 0.8
HIDDEN = "<set>"
_HARMLESS = re.compile(r"[\w.,:+=\-\[\](){}' ]{0,80}")
_PRIVATE_KEY = re.compile(r"dir|path|file|folder|root|name|url|host|user|token|key", re.IGNORECASE)
_PUBLIC_BUILD = re.compile(
    r"cpu(\.cxx11\.abi)?|cu\d+(\.with\.pypi\.cudnn)?|rocm[\d.]+|xpu|git[0-9a-f]{7,40}"
)
_VARIABLES = re.compile(
    r"TORCH_LOGS|TORCHDYNAMO_\w+|TORCHINDUCTOR_\w+|TORCH_COMPILE_\w+|TORCH_CUDNN_\w+|TORCH_SHOW_CPP_STACKTRACES"
    r"|OMP_NUM_THREADS|OMP_DYNAMIC|MKL_NUM_THREADS|MKL_THREADING_LAYER|KMP_\w+|ATEN_CPU_CAPABILITY|ONEDNN_\w+"
    r"|CUDA_LAUNCH_BLOCKING|CUDA_VISIBLE_DEVICES|PYTORCH_CUDA_ALLOC_CONF|NVIDIA_TF32_OVERRIDE"
    r"|CUBLAS_WORKSPACE_CONFIG|TRITON_INTERPRET|TRITON_DISABLE_LINE_INFO|PYTHONHASHSEED|PYTHONOPTIMIZE"
)
_CONFIGS = (
    "torch._dynamo.config",
    "torch._inductor.config",
    "torch._functorch.config",
    "torch.compiler.config",
)


def environment() -> Dict[str, Any]:
    """The machine and its torch, JSON-able. Call it in the thread of the user: configurations are per thread."""
    return {
        "torch": _public_version(torch.__version__),
        "git": getattr(torch.version, "git_version", None),
        "debug": bool(getattr(torch.version, "debug", False)),
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
        "xpu": getattr(torch.version, "xpu", None),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "os": _system(),
        "machine": platform.machine(),
        "libc": "-".join(part for part in platform.libc_ver() if part) or None,
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu_capability": _cpu_capability(),
        "compiler": _compiler(),
        "gpus": _gpus(),
        "driver": _driver(),
        "cudnn": _cudnn(),
        "packages": _packages(),
        "variables": _variables(),
        "configs": configs(),
        "choices": _choices(),
        "caches": _caches(),
    }


def _public_version(version: str) -> str:
    """A torch version whose local part, when a company built it, does not say which."""
    public, _, local = str(version).partition("+")
    if not local or _PUBLIC_BUILD.fullmatch(local):
        return str(version)
    return public + "+custom"


def _system() -> str:
    if sys.platform.startswith("linux"):
        kernel = re.match(r"[\d.]+", platform.release())
        with contextlib.suppress(OSError):
            with open("/etc/os-release", encoding="utf-8", errors="replace") as source:
                found = re.search(
                    r'^PRETTY_NAME="?([\w .()/+-]{1,60})', source.read(), re.MULTILINE
                )
            if found:
                return found.group(1).strip() + (
                    " (Linux " + kernel.group() + ")" if kernel else ""
                )
        return "Linux " + (kernel.group() if kernel else "")
    if sys.platform == "darwin":
        return "macOS " + platform.mac_ver()[0]
    return (platform.system() + " " + platform.release()).strip()


def _cpu_model() -> Optional[str]:
    with contextlib.suppress(OSError):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as source:
            for line in source:
                if line.lower().startswith(("model name", "cpu model")):
                    return line.partition(":")[2].strip()
    return None if sys.platform.startswith("linux") else platform.processor() or None


def _cpu_capability() -> Optional[str]:
    """The instruction set torch dispatches on, which is also what inductor vectorises for. None before 2.1."""
    with contextlib.suppress(AttributeError, RuntimeError):
        return str(torch.backends.cpu.get_cpu_capability())
    found = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
    return found.group(1) if found else None


def _compiler() -> Optional[str]:
    """Name and version of the C++ compiler inductor calls; None when it does not start."""
    chosen = os.environ.get("CXX") or "g++"
    with contextlib.suppress(Exception):
        configured = sys.modules["torch._inductor.config"].cpp.cxx
        names = configured if isinstance(configured, (tuple, list)) else (configured,)
        chosen = next(name for name in names if name)
    try:
        done = subprocess.run(
            [chosen, "--version"],
            capture_output=True,
            text=True,
            timeout=SUBPROCESS_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    version = re.search(r"\d+\.\d+(\.\d+)?", done.stdout)
    name = "clang" if "clang" in done.stdout.lower() else os.path.basename(chosen)
    return (name + " " + version.group()) if version and _HARMLESS.fullmatch(name) else None


def _gpus() -> List[str]:
    """Names of the GPUs. CUDA is never initialised here, because a process that did cannot be forked any more."""
    with contextlib.suppress(Exception):
        if torch.cuda.is_initialized():
            return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    names = []
    for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information")):
        with contextlib.suppress(OSError):
            with open(path, encoding="utf-8", errors="replace") as source:
                found = re.search(r"^Model:\s*(.+)$", source.read(), re.MULTILINE)
            if found:
                names.append(found.group(1).strip())
    return names


def _driver() -> Optional[str]:
    with contextlib.suppress(OSError):
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as source:
            found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", source.read())
        return found.group() if found else None
    return None


def _cudnn() -> Optional[int]:
    with contextlib.suppress(Exception):
        if torch.cuda.is_initialized():
            return int(torch.backends.cudnn.version() or 0) or None
    return None


def _packages() -> Dict[str, str]:
    found = {}
    for name in (
        "numpy",
        "triton",
        "pytorch-triton",
        "pytorch-triton-rocm",
        "torchvision",
        "torchaudio",
    ):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = _public_version(metadata.version(name))
    return found


def _shown(name: str, value: Any) -> Any:
    """A setting's value, or `HIDDEN` where it may hold something private."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if _PRIVATE_KEY.search(name.rpartition(".")[2]):
        return HIDDEN
    text = value if isinstance(value, str) else repr(value)
    return text if _HARMLESS.fullmatch(text) else HIDDEN


def _variables() -> Dict[str, Any]:
    chosen = {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}
    return {
        name: _shown(name, chosen[name])
        for name in sorted(chosen)
        if not re.search(r"_DIR$|_PATH$", name)
    }


def configs() -> Dict[str, Any]:
    """Settings of torch's compiler that differ from their default, `torch._inductor.config.x` -> value.

    Only modules that are loaded: the others can hold no change. Values are compared, not "was it set".
    """
    return {name: _shown(name, value) for name, value in changed_settings().items()}


def _choices() -> List[str]:
    """The changed settings whose value is a string that torch's own configuration file spells out: a choice it offers.

    Any other string is the user's (a path, a name), and no report may repeat it.
    """
    found = []
    for name, value in changed_settings().items():
        module = name.partition(".config.")[0] + ".config"
        if isinstance(value, str) and not _PRIVATE_KEY.search(name.rpartition(".")[2]):
            with contextlib.suppress(OSError, TypeError):
                source = inspect.getsource(sys.modules[module])
                if re.search("[\"']" + re.escape(value) + "[\"']", source):
                    found.append(name)
    return found


def changed_settings() -> Dict[str, Any]:
    """The same with the values themselves. They are those of the calling thread: since 2.13 each thread has its own."""
    found = {}
    for module_name in _CONFIGS:
        module = sys.modules.get(module_name)
        with contextlib.suppress(Exception):
            for name, value, default in _settings(module):
                if not name.startswith("_") and not _equal(value, default):
                    found[module_name + "." + name] = value
    return found


def _equal(value: Any, default: Any) -> bool:
    try:
        return bool(type(value) is type(default) and value == default)
    except Exception:
        return value is default


def _settings(module: Any) -> Iterator[Tuple[str, Any, Any]]:
    entries = dict(getattr(module, "_config", {}))
    if entries and not hasattr(next(iter(entries.values())), "default"):
        yield from _settings_by_reload(module, entries)
        return
    for name, entry in entries.items():
        if getattr(entry, "alias", None) is None:
            yield name, _current(entry), entry.default


def _current(entry: Any) -> Any:
    """The value in force, in the order torch itself applies."""
    override = entry.user_override
    if hasattr(override, "get") and not isinstance(override, dict):
        override = override.get()
    for value in (entry.env_value_force, override, entry.env_value_default):
        if type(value).__module__ == "builtins" and type(value) is not object:
            return value
    return entry.default


def _settings_by_reload(module: Any, entries: Dict[str, Any]) -> Iterator[Tuple[str, Any, Any]]:
    """torch 2.0 keeps no defaults: its configuration file is executed once more under another name."""
    name = module.__name__.rpartition(".")[0] + "._bugreport_defaults"
    loader = importlib.machinery.SourceFileLoader(name, module.__file__)
    spec = importlib.util.spec_from_file_location(name, module.__file__, loader=loader)
    assert spec is not None
    fresh = importlib.util.module_from_spec(spec)
    sys.modules[name] = fresh
    try:
        loader.exec_module(fresh)
        defaults = dict(getattr(fresh, "_config", {}))
    finally:
        sys.modules.pop(name, None)
    for key, value in entries.items():
        if key in defaults and not callable(value):
            yield key, value, defaults[key]


def _caches() -> Dict[str, Any]:
    """Whether compiled code may come from an earlier run; empty when the compiler was not loaded."""
    found = {}
    for module_name, names in (
        (
            "torch._inductor.config",
            ("fx_graph_cache", "fx_graph_remote_cache", "force_disable_caches"),
        ),
        ("torch._functorch.config", ("enable_autograd_cache",)),
    ):
        module = sys.modules.get(module_name)
        for name in names:
            with contextlib.suppress(Exception):
                value = getattr(module, name)
                found[name] = bool(value) if value is not None else None
    return found

"""Which settings of torch's compiler are not what torch ships: values are compared with defaults,
not "was it set".

A setting or variable is shown only when its name is on an allow-list *and* its value looks
harmless; anything else that is set reads `<set>`.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import inspect
import os
import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ..protocol import JsonObject

HIDDEN = "<set>"
HARMLESS = re.compile(r"[\w.,:+=\-\[\](){}' ]{0,80}")
_PRIVATE_KEY = re.compile(r"dir|path|file|folder|root|name|url|host|user|token|key", re.IGNORECASE)
_VARIABLES = re.compile(
    r"TORCH_LOGS|TORCHDYNAMO_\w+|TORCHINDUCTOR_\w+|TORCH_COMPILE_\w+|TORCH_CUDNN_\w+"
    r"|TORCH_SHOW_CPP_STACKTRACES"
    r"|OMP_NUM_THREADS|OMP_DYNAMIC|MKL_NUM_THREADS|MKL_THREADING_LAYER|KMP_\w+"
    r"|ATEN_CPU_CAPABILITY|ONEDNN_\w+"
    r"|CUDA_LAUNCH_BLOCKING|CUDA_VISIBLE_DEVICES|CUDA_MODULE_LOADING|HIP_VISIBLE_DEVICES"
    r"|NVIDIA_TF32_OVERRIDE"
    r"|PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF|CUBLAS_WORKSPACE_CONFIG"
    r"|TRITON_(?:INTERPRET|DEBUG|DISABLE_LINE_INFO|ALWAYS_COMPILE|DEFAULT_FP_FUSION|F32_DEFAULT)"
    r"|PYTHONHASHSEED|PYTHONOPTIMIZE"
)
_CONFIGS = (
    "torch._dynamo.config",
    "torch._inductor.config",
    "torch._functorch.config",
    "torch.compiler.config",
)


def _shown(name: str, value: Any) -> Any:
    """A setting's value, or `HIDDEN` where it may hold something private."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if _PRIVATE_KEY.search(name.rpartition(".")[2]):
        return HIDDEN
    text = value if isinstance(value, str) else repr(value)
    return text if HARMLESS.fullmatch(text) else HIDDEN


def variables() -> JsonObject:
    """The environment variables that decide how torch and its compilers work, those with a path
    left out.
    """
    chosen = {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}
    return {
        name: _shown(name, chosen[name])
        for name in sorted(chosen)
        if not re.search(r"_DIR$|_PATH$", name)
    }


def configs() -> JsonObject:
    """Settings of torch's compiler that differ from their default, `torch._inductor.config.x` ->
    value.

    Only modules that are loaded: the others can hold no change. Values are compared, not "was it
    set".
    """
    return {name: _shown(name, value) for name, value in changed_settings().items()}


def choices() -> List[str]:
    """The changed settings whose value is a string that torch's own configuration file spells out:
    a choice it offers.

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


def changed_settings() -> JsonObject:
    """The same with the values themselves.

    They are those of the calling thread: since 2.13 each thread has its own.
    """
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
    """torch 2.0 keeps no defaults: its configuration file is executed once more under another
    name.
    """
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


def caches() -> Dict[str, Optional[bool]]:
    """Whether compiled code may come from an earlier run; empty when the compiler was not
    loaded.
    """
    found: Dict[str, Optional[bool]] = {}
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

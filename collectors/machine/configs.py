"""Which settings of torch's compiler are not what torch ships: values are compared with defaults,
not "was it set".

A value that may not leave reads `(changed)`.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import sys
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Tuple

from ..protocol.words import PlainValue, TorchSettings
from .environment_variables import read_literals

#: What is said of a value that may not leave.
_CHANGED = "(changed)"
_CONFIGS = (
    "torch._dynamo.config",
    "torch._inductor.config",
    "torch._functorch.config",
    "torch.compiler.config",
)


def _show(name: str, value: Any) -> PlainValue:
    """A setting's value, or `_CHANGED` where it may hold something private.

    Numbers stay, and texts that torch's own configuration file spells out: choices that it offers.
    Any other text is the user's (a path, a name).
    """
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value if value in _list_choices(name) else _CHANGED
    if isinstance(value, (list, tuple)):
        items = [_show(name, item) for item in value]
        return str(items) if _CHANGED not in items and len(items) <= 20 else _CHANGED
    return _CHANGED


def _list_choices(name: str) -> FrozenSet[str]:
    """The texts in the configuration file of a setting, `torch._inductor.config.x`."""
    module = name.partition(".config.")[0].split(".")[1:]
    return read_literals(*module, "config.py")


def show_changed_settings() -> TorchSettings:
    """Settings of torch's compiler that differ from their default, `torch._inductor.config.x` ->
    value.

    Only modules that are loaded: the others can hold no change. Values are compared, not "was it
    set".
    """
    return {name: _show(name, value) for name, value in find_changed_settings().items()}


def find_changed_choices() -> List[str]:
    """The changed settings whose value is a text that torch's own configuration file spells out."""
    return [
        name
        for name, value in find_changed_settings().items()
        if isinstance(value, str) and value in _list_choices(name)
    ]


def find_changed_settings() -> Dict[str, object]:
    """What `show_changed_settings` tells, with the values themselves.

    They are those of the calling thread: since 2.13 each thread has its own. The number of
    compiling processes is left out: it changes no result, and what is watched compiles alone.
    """
    found = {}
    for module_name in _CONFIGS:
        module = sys.modules.get(module_name)
        with contextlib.suppress(Exception):  # each release keeps its settings in another way
            for name, value, default in _list_settings(module):
                if name.startswith("_") or name == "compile_threads":
                    continue
                if not _are_equal(value, default):
                    found[module_name + "." + name] = value
    return found


def _are_equal(value: Any, default: Any) -> bool:
    try:
        return bool(type(value) is type(default) and value == default)
    except Exception:  # a value may refuse to be compared
        return value is default


def _list_settings(module: Any) -> Iterator[Tuple[str, Any, Any]]:
    entries = dict(getattr(module, "_config", {}))
    if entries and not hasattr(next(iter(entries.values())), "default"):
        yield from _reload_settings(module, entries)
        return
    for name, entry in entries.items():
        if getattr(entry, "alias", None) is None:
            yield name, _read_current(entry), entry.default


def _read_current(entry: Any) -> Any:
    """The value in force, in the order torch itself applies."""
    override = entry.user_override
    if hasattr(override, "get") and not isinstance(override, dict):
        override = override.get()
    for value in (entry.env_value_force, override, entry.env_value_default):
        if type(value).__module__ == "builtins" and type(value) is not object:
            return value
    return entry.default


def _reload_settings(module: Any, entries: Dict[str, Any]) -> Iterator[Tuple[str, Any, Any]]:
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


def read_cache_settings() -> Dict[str, Optional[bool]]:
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
            with contextlib.suppress(AttributeError):
                value = getattr(module, name)
                found[name] = bool(value) if value is not None else None
    return found

"""Arguments of `torch.compile`, and the original of it: the recorder, and a candidate's overrides,
may stand in its place.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Mapping

#: What decides which graphs Dynamo hands over.
_OF_DYNAMO = ("fullgraph", "dynamic")
#: Where `nn.Module.compile` calls torch.compile, for whoever calls that method.
_FOR_OTHERS = "torch.nn.modules.module"


def is_own_call_of_torch() -> bool:
    """Whether the caller of the function that asks, a stand-in for torch.compile, is torch itself.

    In eager mode `torch.while_loop`, `cond`, `scan` and flex attention compile what they are given
    (`torch/_higher_order_ops/utils.py`, 2.13). That is no call of the program.
    """
    caller = str(sys._getframe(2).f_globals.get("__name__", ""))
    return caller.split(".")[0] == "torch" and caller != _FOR_OTHERS


def compile_unwatched(function: Any, options: Mapping[str, Any]) -> Callable[..., Any]:
    """What the original torch.compile makes of a function."""
    import torch

    original = getattr(torch.compile, "__wrapped__", torch.compile)
    compiled: Callable[..., Any] = original(function, **options)
    return compiled


def replace_backend(options: Dict[str, Any], backend: Any) -> None:
    """Sets another backend, which knows nothing of the mode and the options of the one before."""
    options["backend"] = backend
    options.pop("mode", None)
    options.pop("options", None)


def select_for_graphs(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options by which another backend is handed the same graphs.

    Args:
        options: keyword arguments of torch.compile.

    Returns:
        Those of them that Dynamo reads, such as `dynamic` and `fullgraph`.
    """
    return {key: options[key] for key in _OF_DYNAMO if key in options}

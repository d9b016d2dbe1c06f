"""Facts about a program that excuse a difference: undefined casts, uninitialised memory, random numbers.

Eager mode is watched operator by operator. A float outside the range of the integer type it is cast to has no
defined value in C++, and `empty` memory holds whatever was there: where results come from those, eager and
compiled may differ and neither is wrong.
"""

from __future__ import annotations

from typing import Any, Dict, List

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

_EMPTY = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "resize_")


class _Watch(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.undefined_casts: List[Dict[str, Any]] = []
        self.uninitialized: List[str] = []
        self.random: List[str] = []
        self.operators: List[str] = []
        self.coarse = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = str(func)
        self.operators.append(name)
        short = name.split(".")[1] if name.count(".") >= 1 else name
        inputs = [
            leaf for leaf in tree_flatten((args, kwargs or {}))[0] if isinstance(leaf, torch.Tensor)
        ]
        results = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]
        if short in _EMPTY:
            self.uninitialized.append(short)
        if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            self.random.append(short)
        if any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in results):
            self.coarse = True
        if short in ("_to_copy", "copy_", "to") and inputs and results:
            self._cast(inputs[-1], results[0])
        return result

    def _cast(self, source: torch.Tensor, target: torch.Tensor) -> None:
        if (
            not source.dtype.is_floating_point
            or target.dtype.is_floating_point
            or target.dtype.is_complex
        ):
            return
        if target.dtype == torch.bool or source.numel() == 0:
            return
        info = torch.iinfo(target.dtype)
        wide = source.detach().double()
        outside = (
            ~torch.isfinite(wide) | (wide <= float(info.min) - 1) | (wide >= float(info.max) + 1)
        )
        if bool(outside.any()):
            self.undefined_casts.append(
                {
                    "from": str(source.dtype),
                    "to": str(target.dtype),
                    "elements": int(outside.sum().item()),
                    "of": source.numel(),
                }
            )


def facts(call: Any) -> Dict[str, Any]:
    """What one eager run of the call met: see the module's key idea. Runs in a forked child."""
    watch = _Watch()
    error = None
    try:
        with watch:
            call.function(*call.args, **call.kwargs)
    except Exception as raised:  # an invalid program is judged by its eager rung, not here
        error = type(raised).__name__
    return {
        "undefined_casts": watch.undefined_casts[:20],
        "uninitialized": sorted(set(watch.uninitialized)),
        "random": sorted(set(watch.random)),
        "operators": len(watch.operators),
        "coarse": watch.coarse,
        "error": error,
    }

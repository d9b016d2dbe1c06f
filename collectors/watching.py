"""Two modes under which a call is traced: one sees what the program asks of torch, the other what tensors come of it.

A tensor that only the second has seen was made where torch functions are not seen.
"""

from __future__ import annotations

import weakref
from typing import Any, Dict

import torch
from torch.overrides import TorchFunctionMode


class Watch(TorchFunctionMode):  # type: ignore[misc]
    """Shows each torch function to the tracer."""

    def __init__(self, tracer: Any) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.tracer.operation(func, args, kwargs or {})


class Births(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Notes every tensor that an operator makes: one that no torch function returned was made out of sight."""

    def __init__(self, born: Dict[int, Any]) -> None:
        super().__init__()
        self.born = born

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for item in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(item, torch.Tensor):
                self.born[id(item)] = weakref.ref(item)
        return result

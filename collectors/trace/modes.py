"""Two modes under which a call is traced: one sees what the program asks of torch, the other what
tensors come of it.

A tensor that only the second has seen was made where torch functions are not seen.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, Tuple

import torch
from torch.overrides import TorchFunctionMode

from ..machine.dispatcher_mode import DispatcherMode
from ..machine.public_names import is_torch_owned


class InterceptMode(TorchFunctionMode):  # type: ignore[misc]
    """Has `operation` run each torch function, and `note` take what the trace cannot say."""

    def __init__(
        self, operation: Callable[[Any, Any, Any], Any], note: Callable[[str], None]
    ) -> None:
        super().__init__()
        self.operation = operation
        self.note = note

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls = next((t for t in types if _overrides_torch_function(t)), None)
        if cls is not None and torch._C._is_torch_function_enabled():
            self.note("a tensor subclass")
            with InterceptMode(self.operation, self.note):  # what it makes of the call
                return cls.__torch_function__(func, types, args, kwargs or {})
        return self.operation(func, args, kwargs or {})


def _overrides_torch_function(cls: Any) -> bool:
    """Whether a subclass of Tensor has a `__torch_function__` of its own."""
    own = getattr(cls.__torch_function__, "__func__", cls.__torch_function__)
    plain = (torch.Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl)
    return own not in plain and not is_torch_owned(cls)


class NewTensorMode(DispatcherMode):
    """Notes every tensor that an operator makes: one that no torch function returned was made out
    of sight.
    """

    def __init__(self, created: Dict[int, Any]) -> None:
        super().__init__()
        self.created = created

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._note(func(*args, **(kwargs or {})))

    def run_higher_order(
        self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> object:
        return self._note(super().run_higher_order(operator, args, kwargs))

    def _note(self, result: object) -> object:
        for item in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(item, torch.Tensor):
                self.created[id(item)] = weakref.ref(item)
        return result

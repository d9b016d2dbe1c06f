"""Arguments of earlier calls: copied, or forgotten but for what decides on a recompilation."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Tuple

import torch

#: Elements of tensors that are copied of one call's arguments.
_MOST_COPIED = 1 << 20


def copy_arguments(given: Any) -> Any:
    """A structure of arguments whose tensors are copies; None where these would be large."""
    elements = 0

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal elements
        elements += tensor.numel()
        if elements > _MOST_COPIED:
            return tensor
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    copies = _map(given, torch.Tensor, copy)
    return copies if elements <= _MOST_COPIED else None


class Placeholder:
    """Shape and dtype of a tensor argument of an earlier call."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.device = tensor.device
        self.requires_grad = tensor.requires_grad and tensor.dtype.is_floating_point

    def make_tensor(self) -> torch.Tensor:
        """Zeros for integers, a ramp for floats."""
        if not self.dtype.is_floating_point:
            return torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        count = math.prod(self.shape)
        ramp = torch.linspace(0.1, 1.0, max(1, count), device="cpu")[:count]
        made = ramp.reshape(self.shape).to(device=self.device, dtype=self.dtype)
        # a copy: Dynamo guards on being a view, and then compiles once more for the call itself
        return made.clone().requires_grad_(self.requires_grad)


def forget(value: Any) -> Any:
    """A structure with each tensor replaced by its `Placeholder`, so that a history holds no
    data; a tensor that is there twice has one.
    """
    known: Dict[int, Placeholder] = {}
    return _map(value, torch.Tensor, lambda t: known.setdefault(id(t), Placeholder(t)))


def build_layout_key(value: Any) -> str:
    """Shapes and dtypes of a structure, which of its tensors are one and the same, and the values
    that are no tensors.
    """
    numbers: Dict[int, int] = {}

    def describe(tensor: torch.Tensor) -> Tuple[Any, ...]:
        number = numbers.setdefault(id(tensor), len(numbers))
        return number, tuple(tensor.shape), tensor.stride(), str(tensor.dtype)

    return repr(_map(value, torch.Tensor, describe))


def _map(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A structure with each object of a kind replaced."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {key: _map(item, kind, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_map(item, kind, change) for item in value)
    return value


def materialize(value: Any) -> Any:
    """The inverse of `forget`, with zeros for integers (always a valid index) and a ramp for
    floats.
    """
    known: Dict[int, torch.Tensor] = {}

    def find_tensor(placeholder: Placeholder) -> torch.Tensor:
        if id(placeholder) not in known:
            known[id(placeholder)] = placeholder.make_tensor()
        return known[id(placeholder)]

    return _map(value, Placeholder, find_tensor)

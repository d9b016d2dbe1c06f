"""Arguments of an operation as the graph IR has them, apart from tensors and sizes: those have
names, which only their graph or trace knows.
"""

from __future__ import annotations

from typing import Callable

import torch

from ..machine.public_names import NotInGraphError, is_torch_owned
from ..protocol.captured_values import Encoded


def encode_value(value: object, encode: Callable[[object], Encoded]) -> Encoded:
    """A value that is no tensor and no size.

    Args:
        encode: how what is in a container is encoded, tensors and sizes as well.

    Raises:
        NotInGraphError: the graph IR has no form for it.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return {"float": repr(float(value))} if value - value != 0 else float(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return {"atom": str(value)}
    if isinstance(value, torch.device):
        return {"device": value.type}
    if value is Ellipsis:
        return {"atom": "..."}
    if isinstance(value, slice):
        return {"slice": [encode(part) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[key, encode(item)] for key, item in value.items()]}
    raise build_refusal(value)


def build_refusal(value: object) -> NotInGraphError:
    """What is raised for a value without a form; it names types of torch alone."""
    name = type(value).__name__ if is_torch_owned(type(value)) else "object"
    return NotInGraphError("an argument of type " + name)

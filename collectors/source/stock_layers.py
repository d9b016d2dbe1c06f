"""How to construct a stock layer again, for the rewriting of the program's source.

`dynamo.stock_layers` reads the same off a layer of a graph; here the constructor call is checked on
the meta device: what is built from it must print the same and hold the same parameters.
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import nn

from ..dynamo.stock_layers import EQUAL_SIZES, READERS, RECURRENT_DEFAULTS
from ..machine.random_state import RandomState

_SKIPPED = {
    "device",
    "dtype",
    "_weight",
    "_freeze",
    "size_average",
    "reduce",
    "self",
    "args",
    "kwargs",
}
_REPEATED = {*EQUAL_SIZES, "output_size"}
_RECURRENT = {"input_size": None, "hidden_size": None, **RECURRENT_DEFAULTS}


def find_stock_arguments(module: nn.Module) -> Optional[Dict[str, Any]]:
    """Constructor arguments that build the same stock layer, or None if that cannot be told."""
    for short in (True, False):  # some layers keep a size as it was given, a number or a tuple
        made, arguments = build_stock_layer(module, type(module), short)
        if made is not None and _describe_layout(made) == _describe_layout(module):
            if repr(made) == repr(module):
                return arguments
    return None


def build_stock_layer(
    module: nn.Module, layer: type, short: bool = True
) -> Tuple[Optional[nn.Module], Dict[str, Any]]:
    """A layer of a stock class, made with the settings of a module of a class derived from it.

    Args:
        module: the user's module; it is read alone.
        layer: the class of torch.nn.
        short: whether a tuple of equal sizes is given as one of them.

    Returns:
        The layer, on the meta device where its constructor takes one, and the arguments that it
        was made with; (None, {}) where the constructor refuses what the module's attributes say.
    """
    arguments = _read_arguments(module, layer, short)
    state = RandomState.read()
    try:
        return (
            None if arguments is None else layer(**arguments, **_build_meta_options(layer))
        ), arguments or {}
    except Exception:  # a layer's constructor may refuse what its attributes say
        return None, {}
    finally:
        state.restore()


def _describe_layout(module: nn.Module) -> List[Any]:
    named = list(module.named_parameters()) + list(module.named_buffers())
    return [(name, tuple(value.shape)) for name, value in named]


def read_factory_kwargs(module: nn.Module) -> Dict[str, str]:
    """`dtype` (`torch.float16`) and `device` (`cuda`) of a layer's first parameter, each where it
    is not float32 or the CPU; empty without parameters.
    """
    for value in module.parameters():
        found = {}
        if value.dtype != torch.float32:
            found["dtype"] = str(value.dtype)
        if value.device.type != "cpu":
            found["device"] = value.device.type
        return found
    return {}


def _build_meta_options(layer: type) -> Dict[str, Any]:
    accepted = inspect.signature(layer.__init__).parameters  # type: ignore[misc]
    return {"device": "meta"} if "device" in accepted or issubclass(layer, nn.RNNBase) else {}


def _read_arguments(module: nn.Module, layer: type, short: bool) -> Optional[Dict[str, Any]]:
    if isinstance(module, nn.RNNBase):
        return {
            name: getattr(module, name)
            for name, usual in _RECURRENT.items()
            if getattr(module, name, usual) != usual
        }
    read = READERS[layer.__name__](module) if layer.__name__ in READERS else {}
    arguments: Dict[str, Any] = {}
    made: Any = layer.__init__  # type: ignore[misc]
    for name, parameter in inspect.signature(made).parameters.items():
        if name in _SKIPPED or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if name not in read and not hasattr(module, name):
            if parameter.default is parameter.empty:
                return None
            continue
        value = read[name] if name in read else getattr(module, name)
        if name == "bias" and (value is None or isinstance(value, torch.Tensor)):
            value = value is not None
        if isinstance(value, torch.Tensor) and not isinstance(module, nn.modules.loss._Loss):
            return None
        value = _collapse(name, value) if short else value
        if parameter.default is parameter.empty or value != parameter.default:
            arguments[name] = value
    return arguments


def _collapse(name: str, value: Any) -> Any:
    """`kernel_size=(3, 3)` as people write it: 3.

    Only where the constructor would repeat the number itself.
    """
    if (
        isinstance(value, tuple)
        and value
        and name in _REPEATED
        and all(each == value[0] for each in value)
    ):
        return value[0]
    if isinstance(value, tuple) and len(value) == 1 and name == "normalized_shape":
        return value[0]
    return value

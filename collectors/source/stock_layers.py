"""How to construct a stock layer again, for the rewriting of the program's source.

`dynamo.stock_layers` reads the same off a layer of a graph; here the constructor call is checked on
the meta device: what is built from it must print the same and hold the same parameters.
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import nn

from ..dynamo.stock_layers import EQUAL_SIZES, RECURRENT_DEFAULTS

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
    made, arguments = build_stock_layer(module, type(module))
    if made is None:
        return None
    same = (
        _describe_layout(made) == _describe_layout(module)
        and made.extra_repr() == module.extra_repr()
    )
    return arguments if same else None


def build_stock_layer(module: nn.Module, layer: type) -> Tuple[Optional[nn.Module], Dict[str, Any]]:
    """A layer of a stock class, made with the settings of a module of a class derived from it.

    Args:
        module: the user's module; it is read alone.
        layer: the class of torch.nn.

    Returns:
        The layer, on the meta device where its constructor takes one, and the arguments that it
        was made with; (None, {}) where the constructor refuses what the module's attributes say.
    """
    arguments = _read_arguments(module, layer)
    state = torch.get_rng_state()
    try:
        return (
            None if arguments is None else layer(**arguments, **_build_meta_options(layer))
        ), arguments or {}
    except Exception:  # a layer's constructor may refuse what its attributes say
        return None, {}
    finally:
        torch.set_rng_state(state)


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


def _read_arguments(module: nn.Module, layer: type) -> Optional[Dict[str, Any]]:
    if isinstance(module, nn.RNNBase):
        return {
            name: getattr(module, name)
            for name, usual in _RECURRENT.items()
            if getattr(module, name, usual) != usual
        }
    special = _SPECIAL.get(layer.__name__)
    if special is not None:
        return special(module)
    arguments: Dict[str, Any] = {}
    made: Any = layer.__init__  # type: ignore[misc]
    for name, parameter in inspect.signature(made).parameters.items():
        if name in _SKIPPED or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if not hasattr(module, name):
            if parameter.default is parameter.empty:
                return None
            continue
        value = getattr(module, name)
        if name == "bias" and (value is None or isinstance(value, torch.Tensor)):
            value = value is not None
        if isinstance(value, (torch.Tensor, nn.Module)):
            return None
        value = _collapse(name, value)
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


def _read_attention(module: Any) -> Dict[str, Any]:
    arguments = {"embed_dim": module.embed_dim, "num_heads": module.num_heads}
    defaults = {
        "dropout": 0.0,
        "batch_first": False,
        "add_zero_attn": False,
        "kdim": module.embed_dim,
        "vdim": module.embed_dim,
    }
    arguments.update(
        {
            name: getattr(module, name)
            for name, usual in defaults.items()
            if getattr(module, name) != usual
        }
    )
    if module.in_proj_bias is None:
        arguments["bias"] = False
    if module.bias_k is not None:
        arguments["add_bias_kv"] = True
    return arguments


def _read_encoder_layer(module: Any) -> Optional[Dict[str, Any]]:
    name = getattr(module.activation, "__name__", "")
    if name not in ("relu", "gelu"):
        return None
    arguments = {
        "d_model": module.linear1.in_features,
        "nhead": module.self_attn.num_heads,
        "dim_feedforward": module.linear1.out_features,
        "dropout": module.dropout.p,
        "activation": name,
        "batch_first": module.self_attn.batch_first,
        "norm_first": module.norm_first,
    }
    if module.linear1.bias is None:
        arguments["bias"] = False
    return arguments


_SPECIAL = {
    "MultiheadAttention": _read_attention,
    "TransformerEncoderLayer": _read_encoder_layer,
    "TransformerDecoderLayer": _read_encoder_layer,
}

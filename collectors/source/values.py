"""Live torch objects as data: what a tensor looks like, and how to construct a stock layer again.

Values never leave through here: a tensor is its shape, layout, type and range, and whether it is
one of the usual patterns (`arange`, all equal, a triangle). A stock layer is its constructor call,
checked on the meta device: what is built from it must print the same and hold the same parameters.
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import nn

from ..dynamo.value_structure import find_padding, find_structure
from ..protocol.program_source import SpecStatistics, TensorSpec

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
_REPEATED = {"kernel_size", "stride", "padding", "dilation", "output_padding", "output_size"}
_RECURRENT = {
    "input_size": None,
    "hidden_size": None,
    "num_layers": 1,
    "bias": True,
    "batch_first": False,
    "dropout": 0.0,
    "bidirectional": False,
    "proj_size": 0,
}


def read_tensor_spec(value: torch.Tensor, values: bool = True) -> TensorSpec:
    """Shape, stride, offset, dtype, device, requires_grad, stats of a strided tensor; `layout` says
    if it is another.

    Without `values` the contents are not looked at: a stock layer fills its own parameters.
    """
    spec: TensorSpec = {
        "shape": [int(size) for size in value.shape],
        "dtype": str(value.dtype).split(".")[-1],
        "device": value.device.type,
        "requires_grad": bool(value.requires_grad),
        "is_leaf": bool(value.is_leaf),
        "is_parameter": isinstance(value, nn.Parameter),
        "layout": str(value.layout).split(".")[-1],
        "stats": {"numel": int(value.numel())},
    }
    if spec["layout"] == "strided" and value.device.type != "meta":
        spec["stride"] = [int(step) for step in value.stride()]
        spec["offset"] = int(value.storage_offset())
        if values:
            spec["stats"] = _measure_pattern(value.detach())
    return spec


def _measure_pattern(value: torch.Tensor) -> SpecStatistics:
    """Range, special values and pattern; `small` are the values of a tiny tensor of small whole
    numbers.

    `value` may have any shape and real dtype; it is looked at in float64 on the CPU. Of a complex
    or quantized one only the number of elements is told.
    """
    found: SpecStatistics = {"numel": int(value.numel())}
    if not value.numel() or value.is_complex() or value.is_quantized:
        return found
    wide = value.to("cpu").to(torch.float64)
    finite = wide[torch.isfinite(wide)]
    found["has_nan"] = bool(torch.isnan(wide).any())
    if finite.numel():
        padding = None if value.is_floating_point() else find_padding(finite)
        entries = finite
        if padding is not None:
            entries = finite[finite != padding]
            found["padding"] = padding
            found["padding_share"] = float((finite == padding).double().mean())
        found["min"], found["max"] = float(entries.min()), float(entries.max())
        found["integral"] = bool((finite == finite.floor()).all())
        found["distinct"] = bool(
            finite.numel() <= 10000 and finite.unique().numel() == finite.numel()
        )
    found["pattern"] = _find_pattern(wide)
    if not found["pattern"] and "padding" not in found and finite.numel() == wide.numel():
        found["pattern"] = find_structure(value)
    if (
        wide.numel() <= 16
        and finite.numel() == wide.numel()
        and found["integral"]
        and float(wide.abs().max()) <= 64
    ):
        found["small"] = [int(each) for each in wide.reshape(-1).tolist()]
    return found


def _find_pattern(wide: torch.Tensor) -> Optional[str]:
    flat = wide.reshape(-1)
    if bool((flat == flat[0]).all()):
        return "constant"
    if bool((flat == torch.arange(flat.numel(), dtype=flat.dtype, device=flat.device)).all()):
        return "arange"
    if wide.dim() == 2:
        ones = torch.ones_like(wide)
        for name in ("tril", "triu"):
            if bool((wide == getattr(torch, name)(ones)).all()):
                return name
        if bool((wide == torch.eye(*wide.shape, dtype=wide.dtype, device=wide.device)).all()):
            return "eye"
    return None


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

"""How a stock torch.nn layer was constructed, read back from its attributes.

A layer keeps most of its constructor's arguments under their names; the exceptions are listed here.
An optional argument that it does not keep at all counts as not given; where another cannot be read,
the caller treats the layer as any other module and rewrites what it does. `source.stock_layers`
does the same for rewritten sources, with a check of what it read;
`anonymizer/graph/stock_layers.py` finds layers in calls of functions.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Mapping

from torch import nn

from ..machine.public_names import NotInGraphError
from ..protocol.captured_values import LayerConstructor

_SKIPPED = ("self", "device", "dtype", "args", "kwargs")


def _read_attention(module: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {
        "bias": module.in_proj_bias is not None,
        "add_bias_kv": module.bias_k is not None,
    }
    for name in ("kdim", "vdim"):
        size = getattr(module, name)
        found[name] = None if size == module.embed_dim else size
    return found


def _read_activation(module: Any) -> Any:
    """By its name where it has one, as the constructor takes it; else the function or the layer."""
    function = module.activation
    for name in ("relu", "gelu"):
        if function is getattr(nn.functional, name):
            return name
    return function


def _read_transformer_layer(module: Any) -> Dict[str, Any]:
    attention = module.self_attn
    return {
        "d_model": attention.embed_dim,
        "nhead": attention.num_heads,
        "dim_feedforward": module.linear1.out_features,
        "dropout": module.dropout.p,
        "activation": _read_activation(module),
        "layer_norm_eps": module.norm1.eps,
        "batch_first": attention.batch_first,
        "norm_first": module.norm_first,
        "bias": module.linear1.bias is not None,
    }


def _read_embedding(module: Any) -> Dict[str, Any]:
    return {"_weight": None}


#: Arguments that a layer does not keep under their names.
READERS: Mapping[str, Callable[[Any], Dict[str, Any]]] = {
    "MultiheadAttention": _read_attention,
    "TransformerEncoderLayer": _read_transformer_layer,
    "TransformerDecoderLayer": _read_transformer_layer,
    "Embedding": _read_embedding,
    "EmbeddingBag": _read_embedding,
    "PReLU": lambda module: {"init": 0.25},
    "PairwiseDistance": lambda module: {"p": module.norm},
}
#: Layers that do the same as a function which the layers of a transformer know by its name.
_NAMED_ACTIVATIONS = {"ReLU()": "relu", "GELU(approximate='none')": "gelu", "GELU()": "gelu"}
#: Layers whose parameters are not made by their constructor, or that hold modules which need not be
#: stock.
_NEVER = frozenset(
    "Transformer TransformerEncoder TransformerDecoder Sequential ModuleList ModuleDict"
    " ParameterList ParameterDict Module Container AdaptiveLogSoftmaxWithLoss".split()
)


def read_constructor(module: nn.Module) -> LayerConstructor:
    """How a stock layer is made.

    Raises:
        NotInGraphError: the graph IR has no form for it.
    """
    cls = type(module)
    name = cls.__name__
    if getattr(nn, name, None) is not cls or name in _NEVER or name.startswith("Lazy"):
        raise NotInGraphError("a module that is not a stock layer")
    if _is_changed(module):
        raise NotInGraphError("torch.nn.{} with hooks or parametrizations".format(name))
    given = _read_irregular_arguments(module)
    kwargs: Dict[str, Any] = {}
    for argument, parameter in inspect.signature(cls.__init__).parameters.items():
        if argument in _SKIPPED or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        value = (
            given[argument] if argument in given else _read_attribute(module, argument, parameter)
        )
        if isinstance(value, tuple):
            same = argument in EQUAL_SIZES and len(set(value)) == 1
            same = same or argument == "normalized_shape" and len(value) == 1
            value = value[0] if same else list(value)
        if parameter.default is not parameter.empty and value == parameter.default:
            continue
        if not _is_plain(value):
            raise NotInGraphError("torch.nn." + name)
        kwargs[argument] = value
    if isinstance(module, nn.RNNBase):
        kwargs = {"input_size": module.input_size, "hidden_size": module.hidden_size, **kwargs}
        for argument, default in RECURRENT_DEFAULTS.items():
            if getattr(module, argument, default) != default:
                kwargs[argument] = getattr(module, argument)
        kwargs.pop("mode", None)
    return {"class": name, "kwargs": kwargs, "training": module.training}


def _read_irregular_arguments(module: nn.Module) -> Dict[str, Any]:
    name = type(module).__name__
    given = READERS[name](module) if name in READERS else {}
    if "activation" in given:
        given["activation"] = _NAMED_ACTIVATIONS.get(repr(given["activation"]), given["activation"])
    return given


#: Arguments of which a number means the same as a tuple of that number.
EQUAL_SIZES = ("kernel_size", "stride", "padding", "dilation", "output_padding")
#: Arguments of recurrent layers beside their sizes, with what they are where nothing is given.
RECURRENT_DEFAULTS = {
    "num_layers": 1,
    "bias": True,
    "batch_first": False,
    "dropout": 0.0,
    "bidirectional": False,
    "proj_size": 0,
    "nonlinearity": "tanh",
}


def _read_attribute(module: nn.Module, argument: str, parameter: inspect.Parameter) -> Any:
    if argument == "bias":
        value = getattr(module, "bias", None)
        return value if isinstance(value, bool) else value is not None
    if hasattr(module, argument):
        return getattr(module, argument)
    if parameter.default is parameter.empty and not isinstance(module, nn.RNNBase):
        raise NotInGraphError("torch.nn." + type(module).__name__)
    return parameter.default


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return isinstance(value, (int, float, bool, str, type(None)))


def _is_changed(module: nn.Module) -> bool:
    """Whether something besides its class decides what the layer does."""
    for inner in module.modules():
        if any(getattr(inner, name, None) for name in _HOOKS) or "forward" in vars(inner):
            return True
        if getattr(inner, "parametrizations", None) is not None:
            return True
        if getattr(nn, type(inner).__name__, None) is not type(inner) and not _is_torch(
            type(inner)
        ):
            return True
    return False


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _is_torch(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "torch"


def is_plain_sequential(module: nn.Module) -> bool:
    """Whether a module is `nn.Sequential` and nothing more."""
    hooked = any(getattr(module, name, None) for name in _HOOKS) or "forward" in vars(module)
    return type(module) is nn.Sequential and not hooked

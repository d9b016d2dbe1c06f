"""Which stock torch.nn layer stands for a functional call on parameters, read off the call itself.

`F.linear(x, weight, bias)` on a module's parameters *is* `nn.Linear`; a reader knows the layer at
once, and its default initialization replaces the private weights. A parameter that anything else
reads too stays a parameter.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anonymizer.graph.ir import Graph, Input, Node, Ref, Seq, StockLayer, TensorMeta, Value

Arguments = Mapping[str, Value]
#: What a layer is constructed with, by keyword.
Options = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class LayerMatch:
    """A layer for a node: which of its arguments are still passed, and which inputs the layer
    owns.
    """

    layer: StockLayer
    data: tuple[Value, ...]
    owns: tuple[str, ...]


def name_attribute(layer: StockLayer) -> str:
    """What the attribute of a layer is called, without a number: `batch_norm` for `BatchNorm2d`."""
    cls = re.sub(r"\d+d$", "", layer.cls)
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", cls).lower()


def _bind_arguments(node: Node, parameters: tuple[str, ...]) -> dict[str, Value] | None:
    if len(node.args) > len(parameters):
        return None
    given = {**dict(zip(parameters, node.args)), **dict(node.kwargs)}
    return given if set(given) <= set(parameters) else None


def _find_shape(graph: Graph, value: Value) -> tuple[int, ...] | None:
    meta = graph.find_meta(value.name) if isinstance(value, Ref) else None
    return meta.shape if isinstance(meta, TensorMeta) else None


def _simplify_pair(value: Value) -> Value:
    """(1, 1) as 1: what a person would write."""
    if (
        isinstance(value, Seq)
        and value.items
        and all(item == value.items[0] for item in value.items)
    ):
        return value.items[0]  # type: ignore[no-any-return]
    return value


def _list_options(given: Arguments, defaults: Mapping[str, Value]) -> Options:
    found = []
    for name, default in defaults.items():
        value = _simplify_pair(given.get(name, default))
        if value != default:
            found.append((name, value))
    return tuple(found)


def _list_bias(given: Arguments) -> Options:
    return () if isinstance(given.get("bias"), Ref) else (("bias", False),)


def _match_linear(graph: Graph, given: Arguments) -> StockLayer | None:
    shape = _find_shape(graph, given["weight"])
    if shape is None or len(shape) != 2:
        return None
    sizes = (("in_features", shape[1]), ("out_features", shape[0]))
    return StockLayer("Linear", (*sizes, *_list_bias(given)))


def _match_conv(graph: Graph, given: Arguments, dims: int) -> StockLayer | None:
    shape = _find_shape(graph, given["weight"])
    groups = given.get("groups", 1)
    if shape is None or len(shape) != dims + 2 or not isinstance(groups, int):
        return None
    sizes: Options = (
        ("in_channels", shape[1] * groups),
        ("out_channels", shape[0]),
        ("kernel_size", _simplify_pair(Seq("tuple", tuple(shape[2:])))),
    )
    options = _list_options(given, {"stride": 1, "padding": 0, "dilation": 1, "groups": 1})
    return StockLayer(f"Conv{dims}d", (*sizes, *options, *_list_bias(given)))


def _match_embedding(graph: Graph, given: Arguments) -> StockLayer | None:
    shape = _find_shape(graph, given["weight"])
    if shape is None or len(shape) != 2:
        return None
    sizes = (("num_embeddings", shape[0]), ("embedding_dim", shape[1]))
    options = _list_options(given, {"padding_idx": None, "max_norm": None, "sparse": False})
    return StockLayer("Embedding", (*sizes, *options))


def _match_layer_norm(_: Graph, given: Arguments) -> StockLayer | None:
    if not isinstance(given.get("weight"), Ref) or not isinstance(given.get("bias"), Ref):
        return None
    shape = _simplify_pair(given["normalized_shape"])
    options = _list_options(given, {"eps": 1e-05})
    return StockLayer("LayerNorm", (("normalized_shape", shape), *options))


def _match_group_norm(graph: Graph, given: Arguments) -> StockLayer | None:
    shape = _find_shape(graph, given.get("weight"))
    if shape is None or not isinstance(given.get("bias"), Ref):
        return None
    sizes = (("num_groups", given["num_groups"]), ("num_channels", shape[0]))
    return StockLayer("GroupNorm", (*sizes, *_list_options(given, {"eps": 1e-05})))


def _match_prelu(graph: Graph, given: Arguments) -> StockLayer | None:
    shape = _find_shape(graph, given["weight"])
    if shape is None or len(shape) != 1:
        return None
    return StockLayer("PReLU", (("num_parameters", shape[0]),))


_OF_CONV = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
#: By the function of `torch.nn.functional` that a layer calls: its parameters in their order, and
#: what reads the layer off the arguments, None where it is none.
_LAYERS: dict[str, tuple[tuple[str, ...], Callable[[Graph, Arguments], StockLayer | None]]] = {
    "linear": (("input", "weight", "bias"), _match_linear),
    "conv1d": (_OF_CONV, functools.partial(_match_conv, dims=1)),
    "conv2d": (_OF_CONV, functools.partial(_match_conv, dims=2)),
    "conv3d": (_OF_CONV, functools.partial(_match_conv, dims=3)),
    "embedding": (
        (
            *("input", "weight", "padding_idx", "max_norm", "norm_type"),
            *("scale_grad_by_freq", "sparse"),
        ),
        _match_embedding,
    ),
    "layer_norm": (("input", "normalized_shape", "weight", "bias", "eps"), _match_layer_norm),
    "group_norm": (("input", "num_groups", "weight", "bias", "eps"), _match_group_norm),
    "prelu": (("input", "weight"), _match_prelu),
}


def match(graph: Graph, node: Node, users: Mapping[str, list[str]]) -> LayerMatch | None:
    """The stock layer that stands for `node`, if it owns all of its parameters alone.

    Args:
        users: value -> the nodes that read it, as `Graph.map_users` has them.

    Returns:
        None where the call is of no layer, or where something else reads one of its parameters, or
        a parameter is not float32 on the CPU.
    """
    if node.op != "function" or node.operator not in _LAYERS:
        return None
    parameters, make_layer = _LAYERS[node.operator]
    given = _bind_arguments(node, parameters)
    if given is None:
        return None
    data = given.get("input")
    owned = [value for name, value in given.items() if name != "input" and isinstance(value, Ref)]
    outputs = {ref.name for ref in graph.outputs}
    for value in owned:
        item = graph.find_input(value.name)
        if not _is_read_once(item, users, outputs):
            return None
    if not owned or not isinstance(data, Ref):
        return None
    layer = make_layer(graph, given)
    if layer is None or any(not _is_constant(value) for _, value in layer.kwargs):
        return None
    return LayerMatch(layer, (data,), tuple(value.name for value in owned))


_DELIBERATE = ("normal", "ties", "literal")


def _is_read_once(item: Input | None, users: Mapping[str, list[str]], outputs: set[str]) -> bool:
    if item is None or item.kind != "param" or item.name in outputs or item.alias is not None:
        return False
    plain = item.meta.dtype == "float32" and item.meta.device == "cpu"
    # values that were asked for are not those that a layer makes for itself
    plain = plain and not item.recipe.specials and item.recipe.kind not in _DELIBERATE
    return plain and len(users.get(item.name, ())) == 1


def _is_constant(value: Value) -> bool:
    if isinstance(value, Ref):
        return False
    if isinstance(value, Seq):
        return all(_is_constant(item) for item in value.items)
    return True

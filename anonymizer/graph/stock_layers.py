"""Which stock torch.nn layer stands for a functional call on parameters, read off the call itself.

`F.linear(x, weight, bias)` on a module's parameters *is* `nn.Linear`; a reader knows the layer at
once, and its default initialization replaces the private weights. A parameter that anything else
reads too stays a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anonymizer.graph.ir import Graph, Input, Node, Ref, Seq, StockLayer, TensorMeta, Value

Arguments = Mapping[str, Value]


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


_SIGNATURES: dict[str, tuple[str, ...]] = {
    "linear": ("input", "weight", "bias"),
    "conv1d": ("input", "weight", "bias", "stride", "padding", "dilation", "groups"),
    "conv2d": ("input", "weight", "bias", "stride", "padding", "dilation", "groups"),
    "conv3d": ("input", "weight", "bias", "stride", "padding", "dilation", "groups"),
    "embedding": (
        "input",
        "weight",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ),
    "layer_norm": ("input", "normalized_shape", "weight", "bias", "eps"),
    "group_norm": ("input", "num_groups", "weight", "bias", "eps"),
    "batch_norm": (
        "input",
        "running_mean",
        "running_var",
        "weight",
        "bias",
        "training",
        "momentum",
        "eps",
    ),
    "prelu": ("input", "weight"),
}


def _bind_arguments(node: Node) -> dict[str, Value] | None:
    names = _SIGNATURES.get(node.operator)
    if node.op != "function" or names is None or len(node.args) > len(names):
        return None
    given = dict(zip(names, node.args))
    given.update(node.kwargs)
    return given if set(given) <= set(names) else None


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


def _list_options(given: Arguments, defaults: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    found = []
    for name, default in defaults.items():
        value = _simplify_pair(given.get(name, default))
        if value != default:
            found.append((name, value))
    return tuple(found)


def _match_linear(
    graph: Graph, given: Arguments
) -> tuple[str, tuple[tuple[str, Value], ...]] | None:
    shape = _find_shape(graph, given["weight"])
    if shape is None or len(shape) != 2:
        return None
    bias: tuple[tuple[str, Value], ...] = (
        () if isinstance(given.get("bias"), Ref) else (("bias", False),)
    )
    return "Linear", (("in_features", shape[1]), ("out_features", shape[0]), *bias)


def _match_conv(
    graph: Graph, given: Arguments, dims: int
) -> tuple[str, tuple[tuple[str, Value], ...]] | None:
    shape = _find_shape(graph, given["weight"])
    groups = given.get("groups", 1)
    if shape is None or len(shape) != dims + 2 or not isinstance(groups, int):
        return None
    kernel = _simplify_pair(Seq("tuple", tuple(shape[2:])))
    options = _list_options(given, {"stride": 1, "padding": 0, "dilation": 1, "groups": 1})
    bias: tuple[tuple[str, Value], ...] = (
        () if isinstance(given.get("bias"), Ref) else (("bias", False),)
    )
    sizes: tuple[tuple[str, Value], ...] = (
        ("in_channels", shape[1] * groups),
        ("out_channels", shape[0]),
        ("kernel_size", kernel),
    )
    return f"Conv{dims}d", (*sizes, *options, *bias)


def _match_embedding(
    graph: Graph, given: Arguments
) -> tuple[str, tuple[tuple[str, Value], ...]] | None:
    shape = _find_shape(graph, given["weight"])
    if shape is None or len(shape) != 2:
        return None
    options = _list_options(given, {"padding_idx": None, "max_norm": None, "sparse": False})
    return "Embedding", (("num_embeddings", shape[0]), ("embedding_dim", shape[1]), *options)


def _match_layer_norm(
    graph: Graph, given: Arguments
) -> tuple[str, tuple[tuple[str, Value], ...]] | None:
    if not isinstance(given.get("weight"), Ref) or not isinstance(given.get("bias"), Ref):
        return None
    return "LayerNorm", (
        ("normalized_shape", _simplify_pair(given["normalized_shape"])),
        *_list_options(given, {"eps": 1e-05}),
    )


def _match_group_norm(
    graph: Graph, given: Arguments
) -> tuple[str, tuple[tuple[str, Value], ...]] | None:
    shape = _find_shape(graph, given.get("weight"))
    if shape is None or not isinstance(given.get("bias"), Ref):
        return None
    options = _list_options(given, {"eps": 1e-05})
    return "GroupNorm", (("num_groups", given["num_groups"]), ("num_channels", shape[0]), *options)


def _match_prelu(
    graph: Graph, given: Arguments
) -> tuple[str, tuple[tuple[str, Value], ...]] | None:
    shape = _find_shape(graph, given["weight"])
    return (
        ("PReLU", (("num_parameters", shape[0]),))
        if shape is not None and len(shape) == 1
        else None
    )


_LAYERS: dict[
    str, Callable[[Graph, Arguments], tuple[str, tuple[tuple[str, Value], ...]] | None]
] = {
    "linear": _match_linear,
    "conv1d": lambda graph, given: _match_conv(graph, given, 1),
    "conv2d": lambda graph, given: _match_conv(graph, given, 2),
    "conv3d": lambda graph, given: _match_conv(graph, given, 3),
    "embedding": _match_embedding,
    "layer_norm": _match_layer_norm,
    "group_norm": _match_group_norm,
    "prelu": _match_prelu,
}


def match(graph: Graph, node: Node, users: Mapping[str, list[str]]) -> LayerMatch | None:
    """The stock layer that stands for `node`, if it owns all of its parameters alone.

    Args:
        users: value -> the nodes that read it, as `Graph.users` has them.

    Returns:
        None where the call is of no layer, or where something else reads one of its parameters, or
        a parameter is not float32 on the CPU.
    """
    given = _bind_arguments(node)
    if given is None or node.operator not in _LAYERS:
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
    made = _LAYERS[node.operator](graph, given)
    if made is None or any(not _is_constant(value) for _, value in made[1]):
        return None
    return LayerMatch(StockLayer(made[0], made[1]), (data,), tuple(value.name for value in owned))


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

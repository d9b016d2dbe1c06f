"""One Dynamo graph as plain data (graph IR, JSON).

Targets become public names found by *identity* in torch's own modules, so a private function can
never slip in under a public name. An operator that nobody can look into stays as `opaque`, of which
only the results are known; what else has no public name raises `NotInGraphError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Collection, Dict, List, Optional, Set, Tuple, Union

import torch

from ..machine.public_names import NotInGraphError, find_public_name, is_torch_owned
from ..protocol.captured_graph import CapturedGraph, GraphInput, GraphOperation, InputKind, Symbols
from ..protocol.captured_values import Encoded, OperationKind, ResultLayout, TensorLayout
from . import stock_layers
from .encoded_values import encode_value
from .regions import LEAVES, REGIONS
from .value_statistics import (
    ValueStatistics,
    has_data,
    list_literal_values,
    measure_distribution,
)


def _read_size(size: Any) -> int:
    if isinstance(size, torch.SymInt):
        hint = getattr(size.node, "hint", None)
        return int(hint) if hint is not None else 2
    return int(size)


def _read_symbols(value: torch.Tensor) -> Symbols:
    """The sizes of a tensor, those that vary as the text of their expression; one that the program
    has fixed since is a number (`5` of a weight that the dimension is multiplied with).
    """
    texts = map(str, value.shape)
    return [int(text) if text.isdigit() else text for text in texts]


def read_tensor_meta(value: torch.Tensor) -> TensorLayout:
    """Shape, stride, dtype, device type and requires_grad of a real or fake tensor, sizes as
    numbers.
    """
    return {
        "shape": [_read_size(size) for size in value.shape],
        "stride": (
            [_read_size(step) for step in value.stride()] if value.layout == torch.strided else None
        ),
        "dtype": str(value.dtype).split(".")[-1],
        "device": value.device.type,
        "requires_grad": bool(value.requires_grad),
    }


def _read_result(value: Any) -> ResultLayout:
    if isinstance(value, torch.Tensor):
        return read_tensor_meta(value)
    if isinstance(value, (torch.SymInt, bool)) or isinstance(value, int):
        return {"scalar": "int"}
    if isinstance(value, (torch.SymFloat, float)):
        return {"scalar": "float"}
    if isinstance(value, (tuple, list)):
        return [_read_result(item) for item in value]
    return None


def _move_to_device(meta: ResultLayout, device: str) -> ResultLayout:
    """Metadata of results that were kept without their data."""
    if isinstance(meta, list):
        return [_move_to_device(item, device) for item in meta]
    return {**meta, "device": device} if meta is not None and "device" in meta else meta


_CASTS = frozenset("to type int long short byte char type_as _to_copy convert_element_type".split())


def _is_cast(node: Any) -> bool:
    """Whether some user converts the node's values to integers: C++ leaves that undefined for most
    of the floats.
    """
    for user in node.users:
        result = user.meta.get("example_value")
        short = getattr(user.target, "__name__", str(user.target)).split(".")[0]
        if short in _CASTS and isinstance(result, torch.Tensor):
            if not (result.is_floating_point() or result.is_complex()):
                return True
    return False


_NESTED = "a nested graph (higher-order operator)"
#: Higher-order operators that write to what they are given.
_WRITES = ("mutation", "functionalized", "effects")


def _is_opaque(node: Any) -> bool:
    """Whether a node may be left as something that only returns results: an operator that changes
    none of its arguments.
    """
    target = node.target
    if node.op != "call_function":
        return False
    if isinstance(target, torch._ops.OpOverloadPacket):
        target = getattr(target, target.overloads()[0])
    if isinstance(target, torch._ops.OpOverload):
        return not target._schema.is_mutable
    higher = getattr(torch._ops, "HigherOrderOperator", ())
    return isinstance(target, higher) and not any(word in target.name() for word in _WRITES)


@dataclass
class _ScalarInput:
    """A number that arrives as an input of its own; a `value` of None is not known."""

    symbol: str
    value: Union[None, int, float]


class Translator:
    """Translates one GraphModule; `values` are its real inputs if it ran, and `noted` what
    was seen of its results then.

    `allowed` are the ids of tensors whose values may leave.
    """

    def __init__(
        self,
        module: Any,
        values: Optional[Tuple[Any, ...]],
        owned: Dict[int, str],
        names: Dict[int, str],
        noted: Optional[ValueStatistics] = None,
        allowed: Collection[int] = (),
    ) -> None:
        self.allowed = allowed
        self.spans = noted.spans if noted is not None else {}
        self.results = noted.results if noted is not None else {}
        self.lent = noted.lent if noted is not None else {}
        self.module = module
        self.values = values
        self.owned = owned
        self.names = names
        self.refs: Dict[str, str] = {}
        self.sizes: Dict[str, _ScalarInput] = {}
        self.inputs: List[GraphInput] = []
        self.nodes: List[GraphOperation] = []
        self.blocks: Dict[str, int] = {}
        self.storages: Dict[int, Tuple[str, torch.Tensor]] = {}
        self.outputs: List[Encoded] = []
        self.nested: Set[str] = set()

    def translate(self) -> CapturedGraph:
        """The IR of the graph, without its runs.

        Raises:
            NotInGraphError: the graph holds what the IR has no form for.
        """
        tensors = [value for value in self.values or () if isinstance(value, torch.Tensor)]
        self.device = tensors[0].device.type if tensors else "cpu"
        placeholders = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        for index, node in enumerate(placeholders):
            self._take_placeholder(
                node, self.values[index] if self.values and index < len(self.values) else None
            )
        for node in placeholders:
            if node.name in self.sizes:
                self._add_size(node)
        for node in self.module.graph.nodes:
            if node.op == "output":
                self.outputs = self._flatten(node.args[0])
            elif node.op != "placeholder":
                self._add_node(node)
        return {"inputs": self.inputs, "nodes": self.nodes, "outputs": self.outputs, "runs": []}

    def _make_name(self) -> str:
        return "n{}".format(len(self.nodes))

    def _take_placeholder(self, node: Any, value: Any) -> None:
        fake = node.meta.get("example_value")
        if (
            isinstance(fake, (torch.SymInt, int))
            or isinstance(value, int)
            and not isinstance(value, bool)
        ):
            self.sizes[node.name] = _ScalarInput(
                str(fake) if fake is not None else "", value if isinstance(value, int) else None
            )
            return
        if isinstance(fake, torch.SymFloat) or isinstance(value, float):
            self.refs[node.name] = ""
            given = float(value) if value is not None else 1.0
            self.sizes[node.name] = _ScalarInput(str(fake), given)
            return
        tensor = value if isinstance(value, torch.Tensor) else fake
        if not isinstance(tensor, torch.Tensor):
            raise NotInGraphError("an input that is not a tensor")
        self._add_input(node.name, tensor, fake, value, _is_cast(node))

    def _add_input(
        self, name: str, tensor: torch.Tensor, fake: Any, value: Any, cast: bool = False
    ) -> None:
        label = self.owned.get(id(value), "")
        kind: InputKind = (
            "param"
            if isinstance(value, torch.nn.Parameter) or isinstance(fake, torch.nn.Parameter)
            else "input"
        )
        if kind == "input" and label and not label.startswith(("arg", "kwarg")):
            kind = "buffer"
        public = "{}{}".format({"param": "p", "buffer": "b", "input": "x"}[kind], len(self.inputs))
        entry: GraphInput = {
            "name": public,
            "kind": kind,
            "meta": read_tensor_meta(fake if isinstance(fake, torch.Tensor) else tensor),
        }
        if isinstance(value, torch.Tensor):
            entry["meta"]["requires_grad"] = bool(value.requires_grad)
        if isinstance(fake, torch.Tensor):
            entry["symbols"] = _read_symbols(fake)
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            entry["stats"] = self.lent.get(id(value)) or measure_distribution(value)
            if id(value) in self.allowed:
                entry["stats"]["values"] = list_literal_values(value)
            self._note_alias(entry, value)
            if cast:
                entry["stats"]["cast"] = True
        self.inputs.append(entry)
        self.refs[name] = public

    def _note_alias(self, entry: GraphInput, value: torch.Tensor) -> None:
        if not value.numel() or not has_data(value):
            return
        key = value.untyped_storage().data_ptr()
        if key in self.storages:
            owner, first = self.storages[key]
            offset = int(value.storage_offset()) - int(first.storage_offset())
            entry["alias"] = {"of": owner, "offset": offset}
        else:
            self.storages[key] = (entry["name"], value)

    def _add_size(self, node: Any) -> None:
        """A size that arrives as an input of its own becomes `tensor.size(dim)` of the input that
        carries it.
        """
        size = self.sizes[node.name]
        for entry in self.inputs:
            for dim, symbol in enumerate(entry.get("symbols", ())):
                if isinstance(symbol, str) and symbol == size.symbol:
                    name = self._make_name()
                    self.nodes.append(
                        {
                            "name": name,
                            "op": "method",
                            "target": "size",
                            "args": [{"ref": entry["name"]}, dim],
                            "kwargs": {},
                            "meta": {"scalar": "int"},
                            "block": [],
                        }
                    )
                    self.refs[node.name] = name
                    return
        fake = node.meta.get("example_value")
        self.refs[node.name] = ""
        if size.value is None:
            size.value = _read_size(fake)

    def _encode(self, value: Any) -> Encoded:
        if isinstance(value, torch.fx.Node):
            if value.name in self.nested:
                raise NotInGraphError(_NESTED)
            public = self.refs[value.name]
            if public == "":
                return self.sizes[value.name].value
            return {"ref": public}
        if isinstance(value, torch.SymInt):
            return _read_size(value)
        return encode_value(value, self._encode)

    def _flatten(self, value: Any) -> List[Encoded]:
        if isinstance(value, (tuple, list)):
            return [item for part in value for item in self._flatten(part)]
        if isinstance(value, torch.fx.Node):
            return [self._encode(value)]
        return []

    def _find_blocks(self, node: Any) -> List[int]:
        stack = node.meta.get("nn_module_stack") or {}
        return [self.blocks.setdefault(str(key), len(self.blocks)) for key in stack]

    def _add_node(self, node: Any) -> None:
        try:
            operation = self._find_operation(node)
            if operation is None:
                return
            op, target = operation
            args = [self._encode(item) for item in node.args]
            kwargs = {key: self._encode(item) for key, item in node.kwargs.items()}
        except NotInGraphError:
            if not _is_opaque(node):
                raise
            op, target, kwargs = "opaque", "opaque", {}
            args = [
                self._encode(item) for item in node.all_input_nodes if item.name not in self.nested
            ]
        name = self._make_name()
        self.refs[node.name] = name
        entry: GraphOperation = {
            "name": name,
            "op": op,
            "target": target,
            "args": args,
            "kwargs": kwargs,
            "meta": self._read_node_result(node),
            "block": self._find_blocks(node),
        }
        value = node.meta.get("example_value")
        if isinstance(value, torch.Tensor) and any(
            isinstance(n, torch.SymInt) for n in value.shape
        ):
            entry["symbols"] = _read_symbols(value)
        if node.name in self.spans:
            entry["stats"] = {**self.spans[node.name], "cast": _is_cast(node)}
        if op == "module":
            entry["module"] = stock_layers.read_constructor(self.module.get_submodule(node.target))
        self.nodes.append(entry)

    def _read_node_result(self, node: Any) -> ResultLayout:
        if "example_value" in node.meta or node.name not in self.results:
            return _read_result(node.meta.get("example_value"))
        return _move_to_device(_read_result(self.results[node.name]), self.device)

    def _find_operation(self, node: Any) -> Optional[Tuple[OperationKind, str]]:
        """What a node is, and its public name; None for one that computes nothing."""
        if node.op == "get_attr":
            self._take_attribute(node)
            return None
        if node.op == "call_method":
            if not hasattr(torch.Tensor, node.target):
                raise NotInGraphError("a method that torch.Tensor lacks")
            return "method", str(node.target)
        if node.op == "call_module":
            return "module", "module"
        short = getattr(node.target, "__name__", "")
        if short in REGIONS and is_torch_owned(node.target):
            return "enter", REGIONS[short].context
        if short in LEAVES and is_torch_owned(node.target):
            return "exit", "exit"
        if short == "_log_api_usage_once" and is_torch_owned(node.target):
            return None  # a note to torch's own telemetry
        if short == "_set_grad_enabled":
            return "grad_mode", "torch._C._set_grad_enabled"
        return "function", find_public_name(node.target, self.names)

    def _take_attribute(self, node: Any) -> None:
        value = self.module
        for part in node.target.split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            self.nested.add(node.name)
            return
        self._add_input(node.name, value, node.meta.get("example_value"), value)

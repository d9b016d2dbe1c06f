"""The call's Dynamo graph up to one of its operations: which operations there are, in public words,
and the cut.

Dynamo's own notes on graphs and nodes (shapes, sources, what is static) are kept, so that a backend
treats a prefix as it treats the graph. What is open at the cut, autocast for one, is left as the
graph would leave it.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

from ..call import outputs
from ..machine.public_names import NotInGraphError, find_public_name
from ..protocol.captured_values import is_write
from ..protocol.graphs import GraphNode, GraphShape
from .regions import LEAVES, REGIONS

_CALLS = ("call_function", "call_method", "call_module")


def describe(module: Any, names: Dict[int, str]) -> GraphShape:
    """The operations of a graph, in public words only.

    One that writes changes a tensor in place, so what comes later may depend on it.

    Args:
        module: a `torch.fx.GraphModule` of Dynamo; dtypes are read from the fake tensors in `meta`.
        names: id -> public name, from `collect_public_names`.
    """
    positions: Dict[Any, int] = {}
    nodes: List[GraphNode] = []
    found: List[int] = []
    for node, depth in _with_depth(module):
        read = sorted({positions[n] for n in node.all_input_nodes if n in positions})
        if node.op == "output":
            found = read
        if node.op not in _CALLS:
            continue
        positions[node] = len(nodes)
        value = _read_value(_find_source(node))
        tensors = [t for _, t in outputs.flatten(value) if isinstance(t, torch.Tensor)]
        nodes.append(
            {
                "operator": _find_node_name(module, node, names),
                "dtype": str(tensors[0].dtype) if tensors else None,
                "measurable": bool(tensors) and depth == 0,
                "differentiable": any(bool(tensor.requires_grad) for tensor in tensors),
                "inputs": read,
                "writes": _writes(module, node),
            }
        )
    return {"nodes": nodes, "outputs": found}


def _with_depth(module: Any) -> Iterator[Tuple[Any, int]]:
    """Nodes with how many functorch transforms are open after them: inside one, values are no plain
    tensors.
    """
    depth = 0
    for node in module.graph.nodes:
        name = _shorten(node)
        depth += name.endswith("_increment_nesting")
        depth -= name.endswith("_decrement_nesting")
        yield node, depth


def note_values(module: Any, example_inputs: Any) -> None:
    """Notes what each node computes, for releases whose Dynamo does not hand that over (2.0).

    Args:
        module: a `torch.fx.GraphModule`; its calls get `example_value` in their `meta`, unless one
            of them has a value already.
        example_inputs: one for each placeholder; without a fake tensor among them nothing is done.
    """
    calls = [node for node in module.graph.nodes if node.op in _CALLS]
    modes = [tensor.fake_mode for tensor in example_inputs if hasattr(tensor, "fake_mode")]
    if not modes or any(_read_value(node) is not None for node in calls):
        return

    class ValueInterpreter(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            n.meta["example_value"] = super().run_node(n)
            return n.meta["example_value"]

    before = modes[0].allow_non_fake_inputs
    modes[0].allow_non_fake_inputs = True
    try:  # a node without a note is not measured
        with contextlib.suppress(Exception), torch.set_grad_enabled(torch.is_grad_enabled()):
            with modes[0]:  # copies, since the graph may change its inputs
                ValueInterpreter(module).run(
                    *[t.clone() if isinstance(t, torch.Tensor) else t for t in example_inputs]
                )
    finally:
        modes[0].allow_non_fake_inputs = before


def _shorten(node: Any) -> str:
    if node.op == "call_function":
        return str(getattr(node.target, "__name__", ""))
    return str(node.target) if node.op == "call_method" else ""


def _read_value(node: Any) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _find_source(node: Any) -> Any:
    """The node that holds what `node` computed: for an assignment to a part of a tensor, that
    tensor.
    """
    if node.op == "call_function" and node.target is operator.setitem:
        return node.args[0]
    return node


def _writes(module: Any, node: Any) -> bool:
    if node.op == "call_module":
        layer = module.get_submodule(node.target)
        return bool(getattr(layer, "inplace", False)) or any(True for _ in layer.buffers())
    name = _shorten(node)
    is_pythons = node.op == "call_function" and getattr(operator, name, None) is node.target
    return is_write(f"operator.{name}" if is_pythons else name, node.args, node.kwargs)


def _find_node_name(module: Any, node: Any, names: Dict[int, str]) -> Optional[str]:
    """A node's public name: `torch.softmax`, `Tensor.view`, `torch.nn.Linear`; None for anything
    not torch's own.

    Args:
        module: the graph module, in which a layer is looked up.
        node: a `torch.fx.Node` that calls something.
        names: id -> public name, from `collect_public_names`.
    """
    if node.op == "call_method":
        return "Tensor." + node.target if hasattr(torch.Tensor, node.target) else None
    if node.op == "call_module":
        layer = type(module.get_submodule(node.target))
        stock = getattr(torch.nn, layer.__name__, None) is layer
        return "torch.nn." + layer.__name__ if stock else None
    higher = getattr(getattr(torch.ops, "higher_order", None), _shorten(node), None)
    if higher is not None and higher is node.target:
        return "torch.ops.higher_order." + _shorten(node)
    short = _shorten(node)
    if short.startswith(("_enter_", "_exit_")) and short in vars(
        sys.modules.get(node.target.__module__, torch)
    ):
        return "torch." + short if node.target.__module__.startswith("torch.") else None
    try:
        name = find_public_name(node.target, names)
    except (NotInGraphError, AttributeError):
        return None
    prefix, _, last = name.rpartition(".")
    if prefix == "torch._C._nn" and hasattr(torch.nn.functional, last):
        return "torch.nn.functional." + last
    return name


def cut_at(module: Any, position: Optional[int]) -> Any:
    """The graph up to its `position`-th call, returning that call's tensors; all of it for None.

    Autocast and inference-mode regions that are open there are left again, and grad mode is put
    back.

    Args:
        module: a `torch.fx.GraphModule`, which stays as it is.
        position: of the call, from 0.

    Returns:
        A `torch.fx.GraphModule` that shares the parameters of `module` and has the same inputs. For
        a position it returns a tuple.

    Raises:
        IndexError: the graph has fewer calls.
    """
    graph = torch.fx.Graph()
    copies: Dict[Any, Any] = {}
    entered: List[Any] = []
    switch = None
    number = -1
    for node in module.graph.nodes:
        if node.op == "output" and position is not None:
            raise IndexError(position)
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        _with_notes(copies[node], node)
        number += node.op in _CALLS
        if _shorten(node) in REGIONS:
            entered.append(node)
        elif _shorten(node) in LEAVES:
            entered = [e for e in entered if e is not node.args[0]]
        elif _shorten(node) == "_set_grad_enabled":
            switch = node.target
        if node.op in _CALLS and number == position:
            source = _find_source(node)
            leaves = tuple(_unpack_leaves(graph, copies[source], _read_value(source)))
            for region in reversed(entered):
                name = REGIONS[_shorten(region)].leave
                leave = getattr(sys.modules[region.target.__module__], name)
                graph.call_function(leave, (copies[region],))
            if switch is not None:
                graph.call_function(switch, (torch.is_grad_enabled(),))
            graph.output(leaves)
            break
    made = torch.fx.GraphModule(module, graph)
    made.meta.update(getattr(module, "meta", {}))
    _with_notes(made, module)
    return made


def _with_notes(made: Any, original: Any) -> None:
    """Attributes that Dynamo hangs on graphs and nodes for its backends: no copy takes them
    along.
    """
    for name, value in getattr(original, "__dict__", {}).items():
        vars(made).setdefault(name, value)


def _unpack_leaves(graph: Any, node: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            if isinstance(part, (torch.Tensor, tuple, list)):
                item = graph.call_function(operator.getitem, (node, index))
                item.meta["example_value"] = part
                yield from _unpack_leaves(graph, item, part)
    else:
        yield node

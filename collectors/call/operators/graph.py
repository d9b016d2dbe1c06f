"""One call of a torch function as a graph, so that it is translated and reduced like those of
Dynamo.

Nothing is run for it: the call ends in an error or takes the process with it.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.fx

from ...machine.public_names import collect_public_functions


def build_operator_graph(
    function: Any, args: Any, kwargs: Any, kept: Optional[Tuple[int, str]] = None
) -> Tuple[Any, List[torch.Tensor]]:
    """The call as a graph module with the tensors as its inputs, and these tensors.

    A method of tensors is a node `call_method`; a function has the public name's object as its
    target, however torch hands it to a mode.

    Args:
        function: one of torch's, or an operator.
        args: tensors may be inside of lists, tuples and dicts, here and in `kwargs`.
        kept: the place of a tensor in `args`, and the method that it goes through first.

    Returns:
        A `torch.fx.GraphModule` whose placeholders have the tensors as `example_value`, and the
        tensors in the order of the placeholders: not copied, each once.
    """
    graph = torch.fx.Graph()
    tensors: List[torch.Tensor] = []
    nodes: Dict[int, Any] = {}

    def place(value: torch.Tensor) -> Any:
        if id(value) not in nodes:
            node = graph.placeholder("x{}".format(len(tensors)))
            node.meta["example_value"] = value
            nodes[id(value)] = node
            tensors.append(value)
        return nodes[id(value)]

    placed, named = list(_map(args, place)), _map(kwargs, place)
    if kept is not None:
        at, method = kept
        placed[at] = graph.call_method(method, (placed[at],))
        placed[at].meta["example_value"] = getattr(args[at], method)()
    name = str(getattr(function, "__name__", ""))
    target = collect_public_functions().get(_build_key(function))
    if target is None and getattr(torch.Tensor, name, None) is function:
        graph.output(graph.call_method(name, tuple(placed), named))
    else:
        graph.output(graph.call_function(target or function, tuple(placed), named))
    return torch.fx.GraphModule(torch.nn.Module(), graph), tensors


def _build_key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _map(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _map(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, change) for item in value)
    return value

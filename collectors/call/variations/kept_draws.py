"""Compiling with every result that a graph computes and nobody uses: AOTAutograd leaves those out
(`eliminate_dead_code` in `torch/_functorch/_aot_autograd/graph_capture.py`), and where one of them
draws random numbers, all later draws give others than in eager mode.
"""

from __future__ import annotations

from typing import Any, Callable, List, Sequence

import torch
import torch.fx

_CALLS = ("call_function", "call_method", "call_module")


def keep_unused_results(backend: Any) -> Callable[..., Any]:
    """The backend, a name or a callable, given graphs that return what nobody uses as well."""
    from torch._dynamo.backends.registry import lookup_backend

    compile_graph = lookup_backend(backend)

    def compile_whole(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        returned = [node for node in graph.graph.nodes if node.op == "output"][0]
        unused = _list_unused(graph)
        wanted = len(returned.args[0])
        returned.args = ((*returned.args[0], *unused),)
        graph.recompile()
        compiled: Callable[..., Any] = compile_graph(graph, inputs)
        return lambda *arguments: list(compiled(*arguments))[:wanted]

    return compile_whole


def _list_unused(graph: torch.fx.GraphModule) -> List[torch.fx.Node]:
    """The operations whose result is a tensor that no other operation takes."""
    return [
        node
        for node in graph.graph.nodes
        if node.op in _CALLS
        and not node.users
        and isinstance(node.meta.get("example_value"), torch.Tensor)
    ]

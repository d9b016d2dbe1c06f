"""What stops tracing and what compiles again: `explain` and the recompilation profiler, of what the
program really did.

`torch._dynamo.explain` traces once more with arguments of its own, and the profiler class went
after 2.0; the observer sees the same things while the program itself runs, on every release.
"""

from __future__ import annotations

from typing import Any, List

from ..dynamo import counters, graph_breaks
from ..dynamo.observer import Observer, read_code_place
from ..protocol.evidence import ExplainFacts
from .tool import Tool


class Profiler(Tool):
    """Graph breaks with reason and place, recompilations with the guard that failed."""

    name = "explain"

    def start(self) -> None:
        """Watches what Dynamo compiles from here on, and counts the operations of its graphs."""
        self._sizes: List[int] = []
        self._observer = Observer().install()
        self._watch_graph_sizes()

    def _watch_graph_sizes(self) -> None:
        from torch._dynamo import output_graph

        original = output_graph.OutputGraph.call_user_compiler
        sizes = self._sizes

        def count_and_call(output: Any, module: Any, *rest: Any, **more: Any) -> Any:
            sizes.append(sum(node.op.startswith("call") for node in module.graph.nodes))
            return original(output, module, *rest, **more)

        output_graph.OutputGraph.call_user_compiler = count_and_call

    def stop(self) -> ExplainFacts:
        """The graphs, where tracing stopped, and why a function was compiled again."""
        again = [made for made in self._observer.compiles if made.reasons and not made.limited]
        return {
            "graphs": len(self._observer.graphs),
            "operations": self._sizes,
            "graph_breaks": graph_breaks.list_breaks(self._observer),
            "recompiles": [
                {
                    "reasons": made.reasons[:4],
                    "file": place[0],
                    "line": place[1],
                    "function": place[2],
                }
                for made in again
                for place in (read_code_place(made.code),)
            ],
            "limit_hit": self._observer.limit_hit,
            "counted": counters.count(),
        }

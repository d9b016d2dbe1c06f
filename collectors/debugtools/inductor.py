"""Inductor's debug folder (TORCH_COMPILE_DEBUG): each graph before and after its passes, before and
after fusion, and its code.

A compile that is answered from a cache writes none, so the caches are off here.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, List

from ..machine import hardware
from ..protocol.evidence import InductorFacts
from .tool import Tool, ToolUnavailableError

WANTED = (
    "fx_graph_readable.py",
    "fx_graph_transformed.py",
    "ir_pre_fusion.txt",
    "ir_post_fusion.txt",
    "output_code.py",
)


class InductorFolder(Tool):
    """`torch_compile_debug/…/torchinductor/<graph>/` as torch writes it, the list of its graphs,
    and the vector ISA in use.
    """

    name = "inductor"

    def start(self) -> None:
        """Has inductor write its debug folder here, and compile anew.

        Raises:
            ToolUnavailableError: this release has none.
        """
        import torch._dynamo.config as dynamo
        import torch._inductor.config as inductor

        if not hasattr(inductor, "trace"):
            raise ToolUnavailableError("this release has no debug folder")
        dynamo.debug_dir_root = os.path.join(self.folder, "torch_compile_debug")
        inductor.trace.enabled = True
        import torch._inductor.debug as debug

        if hasattr(debug.DebugContext, "rename"):  # 2.0 moves the folder into the compiler's cache
            debug.DebugContext.rename = lambda *_: None
        for module, name in ((inductor, "fx_graph_cache"), (inductor, "fx_graph_remote_cache")):
            with contextlib.suppress(AttributeError):
                setattr(module, name, False)
        with contextlib.suppress(ImportError, AttributeError):
            import torch._functorch.config as functorch

            functorch.enable_autograd_cache = False

    def stop(self) -> InductorFacts:
        """Where the folders of the graphs are.

        Raises:
            ToolUnavailableError: inductor compiled nothing.
        """
        graphs = _find_graphs(self.folder)
        if not graphs:
            raise ToolUnavailableError("inductor compiled nothing")
        return {
            "graphs": [os.path.relpath(path, self.folder) for path in graphs],
            "vector_isa": hardware.read_vector_isa(),
        }


def _find_graphs(folder: str) -> List[str]:
    """The folders of compiled graphs, in the order they were compiled."""
    found = [path for path, _, names in os.walk(folder) if any(name in WANTED for name in names)]
    return sorted(found, key=_build_order_key)


def _build_order_key(path: str) -> Any:
    number = path.rpartition(".")[2]
    return (int(number) if number.isdigit() else 0, path)

"""Where the compile time went: torch times its own phases in every release, under names that
changed.

Seconds are wall time and nested: a phase contains those that it calls, so they do not add up to the
whole.
"""

from __future__ import annotations

from typing import Dict, Mapping

from ..protocol.evidence import PhaseFacts
from .tool import Tool, ToolUnavailableError

#: The functions torch times, in the order they run, and what a reader calls them. Several names for
#: one phase: by release.
_PHASES = (
    ("dynamo", ("_compile.compile_inner", "_compile", "bytecode_tracing")),
    ("backend", ("OutputGraph.call_user_compiler",)),
    (
        "aot_autograd",
        ("create_aot_dispatcher_function", "aot_dispatch_base", "aot_dispatch_autograd"),
    ),
    (
        "inductor",
        (
            "compile_fx_inner",
            "compile_fx.<locals>.fw_compiler_base",
            "_recursive_joint_graph_passes",
        ),
    ),
    ("lowering", ("GraphLowering.run",)),
    ("scheduling", ("Scheduler.__init__", "Scheduler.codegen")),
    (
        "code generation",
        ("GraphLowering.codegen", "GraphLowering.compile_to_module", "GraphLowering.compile_to_fn"),
    ),
)


class Phases(Tool):
    """What torch timed itself, by phase and by function."""

    name = "phases"

    def stop(self) -> PhaseFacts:
        """What compiling took so far, which torch notes by itself.

        Raises:
            ToolUnavailableError: nothing was compiled.
        """
        import torch._dynamo.utils as utils

        times = getattr(utils, "compilation_time_metrics", None) or getattr(
            utils, "compilation_metrics", None
        )
        if not isinstance(times, dict) or not times:
            raise ToolUnavailableError("nothing was compiled")
        functions: Dict[str, float] = {
            str(name): round(sum(values), 4)
            for name, values in times.items()
            if isinstance(values, list) and all(isinstance(item, (int, float)) for item in values)
        }
        return {"seconds": _group_by_phase(functions), "functions": functions}


def _group_by_phase(functions: Mapping[str, float]) -> Dict[str, float]:
    found = {}
    for phase, names in _PHASES:
        known = [functions[name] for name in names if name in functions]
        if known:
            found[phase] = max(known)
    return found

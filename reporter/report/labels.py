"""The labels the evidence supports, by the rubric the receiving project publishes.

Never a priority: that is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from reporter.core.kinds import SILENT, Kind, Layer

#: The component that a layer belongs to, or None.
COMPONENTS: Mapping[Layer, str | None] = {
    Layer.DYNAMO: "module: dynamo",
    Layer.AOT_AUTOGRAD: "module: pt2-dispatcher",
    # The backend without inductor's decompositions passes, so by the rubric the fault is
    # inductor's.
    Layer.DECOMPOSITION: "module: inductor",
    Layer.INDUCTOR: "module: inductor",
    Layer.TRITON: "module: inductor",
    Layer.BACKEND: None,
    Layer.EXPORT: "oncall: export",
    Layer.AOTI: "module: aotinductor",
    Layer.ONNX: "module: onnx",
    Layer.EAGER: None,
    Layer.NONE: None,
}


def labels(
    kind: Kind,
    layer: Layer,
    is_bug: bool,
    *,
    cpu_only: bool = False,
    dynamic_false_fixes: bool = False,
    earlier_release_right: bool = False,
    signal: str | None = None,
) -> list[str]:
    """Labels for an issue, the component first.

    Args:
        cpu_only: the fault is in the C++ code generator, or another device was tried and is right.
        dynamic_false_fixes: `dynamic=False` makes it go away; then no other component is named.
        earlier_release_right: an earlier release was run and showed the right answer.
        signal: what killed the process, if something did.
    """
    if not is_bug:
        return []
    found: list[str] = []
    component = COMPONENTS[layer]
    if dynamic_false_fixes:
        found.append("module: dynamic shapes")
    elif component is not None:
        found.append(component)
        if cpu_only and found == ["module: inductor"]:
            found.append("oncall: cpu inductor")
    if kind == Kind.PROCESS_DEATH or signal:
        found.append("module: crash")
    if earlier_release_right:
        found.append("module: regression")
    if kind in SILENT:
        found.append("module: correctness (silent)")
    return found

"""The labels the evidence supports, by the rubric the receiving project publishes.

Never a priority: that is theirs.
"""

from __future__ import annotations

_SILENT = frozenset(
    {"wrong_result", "wrong_gradient", "wrong_metadata", "accepts_invalid", "stale_graph"}
)
_LAYERS = {
    "dynamo": "module: dynamo",
    "aot_autograd": "module: pt2-dispatcher",
    # The backend without inductor's decompositions passes, so by the rubric the fault is
    # inductor's.
    "decomposition": "module: inductor",
    "inductor": "module: inductor",
    "triton": "module: inductor",
}


def labels(
    kind: str,
    layer: str,
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
    if dynamic_false_fixes:
        found.append("module: dynamic shapes")
    elif layer in _LAYERS:
        found.append(_LAYERS[layer])
        if cpu_only and found == ["module: inductor"]:
            found.append("oncall: cpu inductor")
    if kind == "process_death" or signal:
        found.append("module: crash")
    if earlier_release_right:
        found.append("module: regression")
    if kind in _SILENT:
        found.append("module: correctness (silent)")
    return found

"""The labels that the measurements support, by the rubric the receiving project publishes.

Never a priority: that is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporter.core.kinds import SILENT, Kind, Layer

INDUCTOR = "module: inductor"
REGRESSION = "module: regression"
#: The component that a layer belongs to, or None.
COMPONENTS: Mapping[Layer, str | None] = {
    Layer.DYNAMO: "module: dynamo",
    Layer.AOT_AUTOGRAD: "module: pt2-dispatcher",
    # The backend without inductor's decompositions passes, so by the rubric the fault is
    # inductor's.
    Layer.DECOMPOSITION: INDUCTOR,
    Layer.INDUCTOR: INDUCTOR,
    Layer.TRITON: INDUCTOR,
    Layer.BACKEND: None,
    Layer.EXPORT: "oncall: export",
    Layer.AOTI: "module: aotinductor",
    Layer.ONNX: "module: onnx",
    Layer.EAGER: None,
    Layer.NONE: None,
}


#: The component of an eager operator, by how its name begins.
_EAGER_COMPONENTS: Mapping[str, str] = {
    "torch.linalg.": "module: linear algebra",
    "torch.fft.": "module: fft",
    "torch.special.": "module: special",
    "torch.sparse.": "module: sparse",
    "torch.nn.functional.": "module: nn",
    "torch._C._nn.": "module: nn",
    "torch.ops.quantized.": "oncall: quantization",
}


@dataclass(frozen=True)
class LabelGrounds:
    """What was measured beside a verdict, as far as labels depend on it.

    Attributes:
        cpu_only: the fault is in the C++ code generator, or another device was tried and is right.
        dynamic_false_fixes: `dynamic=False` makes it go away; then no other component is named.
        earlier_release_right: an earlier release was run and showed the right answer.
        signal: what killed the process, if something did.
        operators: public names of what the repro calls.
    """

    cpu_only: bool = False
    dynamic_false_fixes: bool = False
    earlier_release_right: bool = False
    signal: str | None = None
    operators: Sequence[str] = ()


def choose_labels(
    kind: Kind, layer: Layer, is_bug: bool, grounds: LabelGrounds | None = None
) -> list[str]:
    """Labels for an issue, the component first; none for what is no bug.

    Args:
        layer: the one at fault, which names the component.
        grounds: what else was measured; None: nothing.
    """
    grounds = grounds or LabelGrounds()
    if not is_bug:
        return []
    found: list[str] = []
    component = COMPONENTS[layer]
    if layer == Layer.EAGER:
        known = _EAGER_COMPONENTS.items()
        named = (c for name in grounds.operators for at, c in known if name.startswith(at))
        component = next(named, None)
    if grounds.dynamic_false_fixes:
        found.append("module: dynamic shapes")
    elif component is not None:
        found.append(component)
        if grounds.cpu_only and found == [INDUCTOR]:
            found.append("oncall: cpu inductor")
    if kind == Kind.PROCESS_DEATH or grounds.signal:
        found.append("module: crash")
    if grounds.earlier_release_right:
        found.append(REGRESSION)
    if kind in SILENT:
        found.append("module: correctness (silent)")
    return found

"""How a recorded call, or a candidate, is varied."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, cast

from .words import ExportStep, RungKind, Surroundings, TorchSettings


class BisectSpec(TypedDict):
    """Applications of one subsystem of the compiler that are left out."""

    #: As in torch's table of subsystems.
    backend: str
    subsystem: str
    #: The last application that is still made, from 1; None: all are, and counted.
    max: Optional[int]


#: What was counted (`call.bisection.Counter`): the applications of each subsystem, as
#: `backend/subsystem`, the public names of `operators` (at most 64), and of the first application
#: that was left out the `operator` and the `pass` of torch's.
BisectCount = TypedDict(
    "BisectCount",
    {
        "counts": Dict[str, int],
        "operators": List[str],
        "operator": Optional[str],
        "pass": Optional[str],
    },
)


class CompileArguments(TypedDict, total=False):
    """Keyword arguments of torch.compile, in place of the program's own."""

    dynamic: Optional[bool]
    mode: Optional[str]
    backend: Optional[str]


class CallVariation(CompileArguments, total=False):
    """How to compile: what a rung of a call and the overrides of a candidate share."""

    config: TorchSettings
    #: Without the compiler's caches.
    fresh: bool
    #: Of torch's pool, from 1.
    threads: int
    #: Operators that Inductor takes from eager, by public name.
    fallback: List[str]
    #: Operators that are not decomposed, by public name.
    undecomposed: List[str]
    #: Decompositions that are bound to operators as their kernels for autograd are taken away, so
    #: that tracing meets the C++ ones.
    unbound: bool
    bisect: BisectSpec


class Rung(CallVariation, total=False):
    """One variation of a recorded call (`call.rungs.execute`); `how` is always there."""

    how: RungKind
    #: With the earlier calls of the same callable before it.
    replay: bool
    #: What an eager run happens in; without it, nothing special.
    surroundings: Surroundings
    #: Inputs moved by one unit in the last place, up and down (1) or down and up (-1).
    perturb: int
    #: The same with a random direction for each element, drawn by a generator with this seed.
    nudge: int
    #: Graphs return what nobody uses as well, so that no draw of random numbers is left out.
    keep_draws: bool
    #: Sizes that have changed between calls are marked as dynamic.
    mark_dynamic: bool
    #: In place of the argument of torch.compile.
    fullgraph: bool
    #: In place of the argument of torch.export.export.
    strict: bool
    #: Exported without dynamic shapes.
    static: bool
    #: Exported with the fixes of its dynamic shapes that torch suggests in this message.
    refine: str
    #: What the exported program goes through, in place of what the user's did.
    steps: List[ExportStep]
    #: File with the gradients of the outputs; None: no backward pass.
    grads: Optional[str]
    #: A backward pass from each output by itself, at least one of which has to end well.
    each_backward: bool
    #: File for the snapshot; for a probe, for what index outputs index.
    snapshot: str
    #: So many further calls are timed, at most, and as many in eager mode.
    timed: int


class Overrides(CallVariation, total=False):
    """How a candidate is run: of these, its `torch.compile` is given the `CompileArguments`."""

    #: The control run: everything is left to Python, as `TORCHDYNAMO_DISABLE=1` does.
    control: bool
    #: Memory that is handed out unwritten holds NaN.
    fill: bool
    #: Where a C++ compiler would start, the candidate has passed.
    end: Literal["compiler"]


def select_compile_arguments(overrides: Overrides) -> CompileArguments:
    """What of the overrides is for `torch.compile`.

    Raises:
        ValueError: one of them is none of `Overrides`.
    """
    unknown = sorted(overrides.keys() - Overrides.__annotations__.keys())
    if unknown:
        raise ValueError("no override is called " + unknown[0])
    known = CompileArguments.__annotations__
    selected = {key: value for key, value in overrides.items() if key in known}
    return cast(CompileArguments, selected)

"""Triton kernels: launches, and what compiling them shows."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, Union

from .repro_words import CandidateOutcome
from .words import KernelOutcome, KernelQuestion, PlainValue


class TritonDtype(TypedDict):
    """One of Triton's dtypes, by its name in `triton.language`; another object by its text."""

    tl: str


class TensorArgument(TypedDict):
    """A tensor that a kernel is given."""

    shape: List[int]
    #: As text, `torch.float32`.
    dtype: str
    stride: List[int]
    #: `cpu`, `cuda`.
    device: str


#: A parameter whose value the compiler knows.
KernelConstant = Union[PlainValue, TritonDtype]


class _KernelLaunch(TypedDict):
    #: Parameter -> `*fp32`, `i32`, `constexpr`.
    signature: Dict[str, str]
    #: Constant parameters.
    constexprs: Dict[str, KernelConstant]
    #: Parameters that are multiples of 16.
    aligned: List[str]
    #: num_warps, num_stages, …
    options: Dict[str, PlainValue]


class KernelLaunch(_KernelLaunch, total=False):
    """A launch as Triton's compiler sees it (`triton.launches`, `triton.inductor_kernels`)."""

    #: Name of its function, and where that is.
    kernel: str
    file: str
    line: int
    #: What was passed.
    arguments: Dict[str, Union[TensorArgument, KernelConstant]]
    #: How often the same was launched.
    times: int
    #: Of a kernel that inductor wrote: its name, its text with helpers, its block sizes.
    name: str
    text: str
    blocks: List[str]
    #: What inductor's launcher is told, in inductor's own form: it goes back to inductor as it is.
    launcher: Dict[str, object]
    #: Its decorator, and the sizes that it expects by prefix, of older releases by place.
    heuristics: str
    size_hints: Union[Dict[str, int], List[int]]
    #: The argument that has no type which could be named; there are no `targets` then.
    unknown: str
    #: What became of it for each target.
    targets: List[TargetAnswer]


#: What compiling a kernel for one `target` gave: `exception` or `signal`, the `message` that
#: matters (at most 400 characters), the `pass` of MLIR that failed, the end of the `log`. Some are
#: missing for an outcome `broken`.
TargetAnswer = TypedDict(
    "TargetAnswer",
    {
        "target": str,
        "outcome": KernelOutcome,
        "exception": Optional[str],
        "signal": Optional[str],
        "message": str,
        "pass": Optional[str],
        "log": str,
        "seconds": float,
    },
    total=False,
)


class _KernelSpec(TypedDict):
    what: KernelQuestion


class KernelSpec(_KernelSpec, total=False):
    """The file that `entry/triton_main.py` reads."""

    #: Folder for its own use, and the file for the answer.
    folder: str
    answer: str
    #: The script and its arguments; not for candidates.
    script: str
    args: List[str]
    #: Candidates: texts that define `kernel`, with a launch each, for one target.
    texts: List[str]
    kernel: str
    launches: List[KernelLaunch]
    target: str


class _ScriptEnding(TypedDict):
    #: Exit code.
    exit: int


class ScriptEnding(_ScriptEnding, total=False):
    """How a script with kernels ended."""

    #: Class of what it raised, and the first line of its text.
    exception: str
    message: str


class KernelsAnswer(TypedDict, total=False):
    """The answer about kernels; which keys there are depends on the question."""

    #: Why there is no answer.
    skipped: str
    #: There is no Triton in this interpreter.
    missing: bool
    #: Release of Triton.
    triton: str
    ending: ScriptEnding
    launches: List[KernelLaunch]
    #: Targets that this installation cannot compile for, with the reason.
    unsupported: Dict[str, str]
    #: Words of Triton's language, and of its sources.
    vocabulary: List[str]
    internals: List[str]
    #: Of candidates, in their order.
    answers: List[TargetAnswer]
    #: `interpret generated`: what the script's own assertions say, with kernels that were launched.
    outcome: Literal[CandidateOutcome.PASSES, CandidateOutcome.FAILS]
    launched: int
    exception: str
    message: str

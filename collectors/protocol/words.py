"""Words that messages of several stages share, and values of torch's settings."""

from __future__ import annotations

from typing import Dict, Literal, TypedDict, Union

from .repro_words import Text

#: A value that JSON has as it is, and that is no list and no object.
PlainValue = Union[None, bool, int, float, str]
#: Values of torch's settings by their full name, `torch._inductor.config.fallback_random`.
TorchSettings = Dict[str, PlainValue]

#: How the target starts a program (`record.starting`).
StartKind = Literal["script", "module", "notebook", "function", "text"]
#: Why a program that runs already is watched: for one block, for a long run, for a test.
WatchMode = Literal["capture", "watch", "test"]
#: Why a fork cannot make a call again: its device, or the program's other ranks.
UnsupportedReason = Literal["CUDA", "ranks"]
#: How a worker makes the processes of its candidates (`worker_main.py serve --isolation`).
Isolation = Literal["fork", "spawn"]
#: What may be asked of a recorded call.
Operation = Literal[
    "run",
    "compare",
    "tensors",
    "capture",
    "trace",
    "equivalence",
    "source_equivalence",
    "divergence",
    "gather",
    "subsystems",
    "graph_breaks",
    "guards",
    "evidence",
    "environment",
]


class CallOutcome(Text):
    """How a request about a call ended."""

    OK = "ok"
    #: The call raised an exception.
    RAISES = "raises"
    #: The process ended, or there is no answer of it.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: This release lacks a setting, or nothing was asked.
    SKIPPED = "skipped"
    #: The measurement itself failed.
    ERROR = "error"
    #: This release cannot.
    UNSUPPORTED = "unsupported"


#: How a rung makes the call: `reused` is the compiled callable of the program itself.
RungKind = Literal["eager", "compiled", "reused", "probe"]
#: What an eager run of a call may happen in (`call.rungs`).
Surroundings = Literal[
    "float64",  # and autocast is switched off
    "memory filled",  # what is handed out unwritten holds NaN
    "casts changed",  # those that C++ leaves undefined give another value
    "writes reordered",  # colliding ones are made in the other order
    "sums in sequence",  # also means and variances, by one addition after another
    "undeclared writes dropped",  # those that schemas of the program's own operators do not name
    "functions uncached",  # what is under `functools.lru_cache` is called each time
    "circumstances changed",  # clocks, addresses, `torch.compiler.is_compiling()`
]
#: What an exported program may go through before it is called (`call.exporting`).
ExportStep = Literal["draft", "decompose", "save", "unflatten", "package", "onnx"]
#: Keyword arguments of torch.onnx.export that decide what the model is; the others say where it is
#: written and what is told of it.
ONNX_ARGUMENTS = (
    "input_names",
    "output_names",
    "opset_version",
    "dynamic_shapes",
    "dynamic_axes",
    "optimize",
    "custom_translation_table",
    "keep_initializers_as_inputs",
)
#: Where a call raised; empty: before it.
CallPhase = Literal["", "forward", "backward"]
#: How alike two lists of tensors are; `refereed`: about as near to float64 as each other.
Closeness = Literal["bitwise", "close", "refereed", "differ", "not compared"]
#: The same for a batch of another size; "raises": only the first program accepts it.
BatchCloseness = Union[Closeness, Literal["raises"]]


class KernelOutcome(Text):
    """How compiling a Triton kernel for one target ended."""

    OK = "ok"
    #: The language does not allow it.
    REFUSED = "refused"
    #: Triton raised an exception.
    RAISES = "raises"
    #: The process ended.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: The text is no kernel that could be put to Triton.
    BROKEN = "broken"


#: What is asked of Triton about a script, or about candidates for a kernel.
KernelQuestion = Literal["interpret", "compile", "candidates", "generated", "interpret generated"]

#: A float that has no value in the integer type it is cast to: dtypes as text, how many of how many
#: elements.
UndefinedCast = TypedDict("UndefinedCast", {"from": str, "to": str, "elements": int, "of": int})

"""Where a process was when it died, was stopped or raised: compiling, or running what was compiled.

Stacks are those that Python's faulthandler wrote, or the frames of an exception. Only frames inside
torch are kept: they tell compiling from running, and name nothing of the user's program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from collectors.protocol.failure import Failure
from reporter.core.kinds import Layer

_FRAME = re.compile(r'File "([^"]*)", line \d+ in (\S+)')
_PACKAGE = re.compile(r"(?:site|dist)-packages/((?:torch|triton)/.*)$")
#: On the stack only while something is compiled; a backward pass is compiled by inductor when it
#: first runs.
_COMPILING = (
    "torch/_dynamo/convert_frame",
    "torch/_inductor/compile_fx",
    "torch/_inductor/graph",
    "torch/_inductor/scheduler",
    "triton/compiler/",
)


#: Code that Inductor has generated (`collectors.call.failure`).
_GENERATED = "torch/_inductor/generated"
#: What calls compiled code, and generated code itself.
_RUNNING = (
    "torch/_inductor/output_code",
    _GENERATED,
    "torch/_functorch/_aot_autograd/runtime_wrappers",
)
#: What catches the exceptions of a backend, so that frames further out are not among theirs; what
#: compiles a backward pass when it first runs; what compiles kernels while generated code is
#: loaded.
_CATCHES = (
    "torch/_dynamo/output_graph",
    "torch/_dynamo/backends/",
    "torch/_inductor/async_compile",
    "torch/_inductor/cpp_builder",
)
#: Whose code a frame of torch is.
_LAYERS = {
    "torch/_inductor/": Layer.INDUCTOR,
    "torch/_functorch/": Layer.AOT_AUTOGRAD,
    "torch/_dynamo/": Layer.DYNAMO,
}


def is_raised_while_running(failure: Failure | None) -> bool:
    """Whether a described exception comes out of compiled code that runs, and of nothing that
    compiles. False where its frames do not say.
    """
    frames = failure.get("frames") if failure is not None else None
    files = [str(frame.get("file", "")) for frame in frames or ()]
    return any(file.startswith(_RUNNING) for file in files) and not any(
        file.startswith((*_COMPILING, *_CATCHES)) for file in files
    )


#: Where a call of an exported program comes through, by file and function
#: (`torch/export/_unlift.py` makes a GraphModule, `torch/export/unflatten.py` one of its own).
_EXPORTED_CALLS = frozenset(
    (("torch/fx/graph_module.py", "call_wrapped"), ("torch/export/unflatten.py", "forward"))
)
#: What makes an exported program, and may call a GraphModule for that.
_EXPORTING = (
    "torch/export/__init__",
    "torch/export/_trace",
    "torch/export/exported_program",
    "torch/fx/experimental/proxy_tensor",
    "torch/_dynamo/symbolic_convert",
    "torch/_functorch/",
    "torch/_inductor/",
    "torch/onnx/",
)


def is_raised_by_exported(failure: Failure | None) -> bool:
    """Whether a described exception comes out of a call of an exported program, and of nothing that
    makes one. False where its frames do not say.
    """
    frames = (failure.get("frames") if failure is not None else None) or ()
    places = [(str(frame.get("file", "")), str(frame.get("function", ""))) for frame in frames]
    return any(place in _EXPORTED_CALLS for place in places) and not any(
        file.startswith(_EXPORTING) for file, _ in places
    )


#: Where every operator is called from.
_ANY_OPERATOR = "torch/_ops.py:"


@dataclass(frozen=True)
class TorchFrames:
    """`frames`: torch's, innermost first, `file:function`."""

    phase: Literal["compiling", "running"]
    frames: tuple[str, ...]

    def describe(self) -> str:
        """A phrase without a full stop."""
        telling = [frame for frame in self.frames if not frame.startswith(_ANY_OPERATOR)]
        where = f" in {(telling or self.frames)[0]}" if self.frames else ""
        return f"while {self.phase}{where}"


def find_raising_layer(failure: Failure) -> Layer | None:
    """The layer whose code raised: that of the innermost frame of one; None where there is none.

    What generated code calls is Inductor's choice, strides of its arguments included. Around each
    such operator stands a mode of AOTAutograd (`_AnalyzeCustomOpInputOutputMode` in
    `torch/_functorch/_aot_autograd/runtime_wrappers.py`, 2.13), which has no part in it.
    """
    files = [str(frame["file"]) for frame in failure.get("frames", ())]
    if is_raised_while_running(failure) and any(file.startswith(_GENERATED) for file in files):
        return Layer.INDUCTOR
    for file in reversed(files):
        for folder, layer in _LAYERS.items():
            if file.startswith(folder):
                return layer
    return None


def parse_thread_dump(dump: str) -> TorchFrames | None:
    """Reads a dump of all threads; the thread with the most of torch in it is the one that matters.

    None without frames.
    """
    best: list[str] = []
    for block in re.split(r"^(?:Current t|T)hread ", dump, flags=re.MULTILINE):
        frames = []
        for path, function in _FRAME.findall(block):
            inside = _PACKAGE.search(path.replace("\\", "/"))
            if inside:
                frames.append(f"{inside.group(1)}:{function}")
        if len(frames) > len(best):
            best = frames
    if not best and not _FRAME.search(dump):
        return None
    compiling = any(frame.startswith(_COMPILING) for frame in best)
    return TorchFrames("compiling" if compiling else "running", tuple(best[:6]))

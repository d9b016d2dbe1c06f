"""What an exception says, as data: a compile error is wrapped up to four times before a user sees
it.

`describe` unwraps it (`inner_exception` first, then an explicit `__cause__`) to the innermost
exception that carries the diagnosis, and splits its frames into torch's own and everybody else's,
so that the host can compare two failures without comparing paths, line numbers or the user's names.
"""

from __future__ import annotations

import os
import re
import traceback
from typing import Iterable, List

from .. import FOLDER
from ..protocol.failure import Failure, FailureFrame

#: Exceptions that only forward another one; the class inside is the diagnosis.
_WRAPPERS = {
    "BackendCompilerFailed",
    "InductorError",
    "InternalTorchDynamoError",
    "TorchRuntimeError",
    "LoweringException",
    "TorchExportError",
    "ConversionError",
}
_MAX_MESSAGE = 20000
#: Files that Inductor generates, named by the hash of their text, and what all of them are called
#: here.
_GENERATED = re.compile(r"c[a-z2-7]{50,52}\.py")
GENERATED = "torch/_inductor/generated"
#: What torch.fx calls the text that it compiles for a graph, with a number behind it, and what all
#: of them are called here (`_exec_with_source` in `torch/fx/graph_module.py`, 2.0 to 2.15).
_GRAPH_CODE = "<eval_with_key>"
GRAPH_CODE = "torch/fx/generated"
#: A kernel in the wrapper that Inductor generates, and the lines of it that a C++ compiler quotes.
_KERNEL = re.compile(r"^(\w+) = async_compile\.cpp\w*\(.*?'''(.*?)'''", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"\berror: .*\n +\d+ \|(.*)")
#: Kernels that are told.
_MOST_KERNELS = 3


def find_torch_folder() -> str:
    """The folder of the imported torch package, with a trailing separator."""
    import torch

    return os.path.dirname(os.path.abspath(str(torch.__file__))) + os.sep


def stops_recomputation(error: BaseException) -> bool:
    """Whether torch itself ends a call by this exception, and catches it: activation checkpointing
    does once it has what the backward pass needs (`_StopRecomputationError` in
    `torch/utils/checkpoint.py`, 2.1 to 2.15).
    """
    kind = type(error)
    return (kind.__module__, kind.__name__) == (
        "torch.utils.checkpoint",
        "_StopRecomputationError",
    )


def _collect_chain(error: BaseException) -> List[BaseException]:
    chain = [error]
    seen = {id(error)}
    while True:
        current = chain[-1]
        inner = getattr(current, "inner_exception", None)
        if not isinstance(inner, BaseException):
            inner = current.__cause__
        if not isinstance(inner, BaseException) or id(inner) in seen:
            return chain
        seen.add(id(inner))
        chain.append(inner)


def _find_diagnosis(chain: List[BaseException]) -> BaseException:
    """The first exception of the chain that is not a mere wrapper; the last one if all are."""
    for error in chain:
        if type(error).__name__ not in _WRAPPERS:
            return error
    return chain[-1]


def _list_frames(error: BaseException, torch_root: str) -> List[FailureFrame]:
    frames: List[FailureFrame] = []
    own = FOLDER
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = os.path.abspath(frame.f_code.co_filename)
        if path.startswith(own):
            continue
        is_torch = path.startswith(torch_root)
        name = "torch/" + path[len(torch_root) :].replace(os.sep, "/") if is_torch else path
        if _GENERATED.fullmatch(os.path.basename(path)):
            name, is_torch = GENERATED, True
        elif os.path.basename(path).startswith(_GRAPH_CODE):
            name, is_torch = GRAPH_CODE, True
        frames.append(
            {"file": name, "function": frame.f_code.co_name, "line": line, "torch": is_torch}
        )
    return frames


def find_key_line(message: str) -> str:
    """The one line of a message that names the problem, not the place: its first compiler error, or
    its first line.
    """
    for line in message.splitlines():
        found = re.search(r"\berror: (.*)", line)
        if found and ".cpp" in line or found and "main.c" in line:
            return "error: " + found.group(1).strip()
    text = message.split("\nfrom user code:")[0].split("\n\nSet TORCH")[0]
    text = re.sub(r"^backend='[^']*' raised:\s*", "", text.strip())
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    if not lines:
        return ""
    first = _read_behind_place([line.strip() for line in text.splitlines() if line.strip()])
    first = first or lines[0]
    target = next((line for line in lines if line.startswith("target: ")), None)
    return first + (" | " + target if target and target not in first else "")


def _read_behind_place(lines: List[str]) -> str:
    """What a message says that begins with a place of generated code: a module of Inductor that
    does not parse, a Triton kernel, or one that another process compiled; empty for other messages.
    """
    first = lines[0]
    if first.startswith("Failed to import ") and len(lines) > 1:
        return re.sub(r" \(\S+, line \d+\)$", "", lines[1])
    if re.fullmatch(r"at \d+:\d+:", first):
        carets = [number for number, line in enumerate(lines) if line == "^"]
        return lines[-1] if carets and carets[-1] + 1 < len(lines) else ""
    if first == "An exception occurred in a subprocess:":
        said = [n for n, line in enumerate(lines) if re.match(r"[\w.]+(Error|Exception): ", line)]
        if said:
            raised = lines[said[-1]].partition(": ")[2]
            inside = [raised, *lines[said[-1] + 1 :]]
            return _read_behind_place(inside) or raised
    return ""


def describe(error: BaseException) -> Failure:
    """A JSON-able account of `error`, with every key."""
    torch_root = find_torch_folder()
    chain = _collect_chain(error)
    inner = _find_diagnosis(chain)
    frames: List[FailureFrame] = []
    for candidate in (inner, chain[-1], *reversed(chain)):
        frames = _list_frames(candidate, torch_root)
        if any(frame["torch"] for frame in frames):
            break
    message = _read_text(inner)
    return {
        "exception": type(inner).__name__,
        "chain": [type(item).__name__ for item in chain],
        "message": message[:_MAX_MESSAGE],
        "first_line": find_key_line(message),
        "frames": frames[-40:],
        "innermost_is_torch": bool(frames) and bool(frames[-1]["torch"]),
        "traceback": _without_middle(_render_traceback(error)),
        "kernels": _find_refused_kernels(chain, message),
    }


def _without_middle(text: str) -> str:
    """The text, or its first and its last lines: where the program calls the compiler, and what the
    compiler says.
    """
    if len(text) <= _MAX_MESSAGE:
        return text
    head = text[: _MAX_MESSAGE // 4].rpartition("\n")[0]
    tail = text[-3 * _MAX_MESSAGE // 4 :].partition("\n")[2]
    return "\n".join((head, "[... frames left out ...]", tail))


def _render_traceback(error: BaseException) -> str:
    """The traceback as Python prints it, without the frames of this package."""
    own = FOLDER
    trace = error.__traceback__
    while trace is not None and os.path.abspath(trace.tb_frame.f_code.co_filename).startswith(own):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def _read_text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a broken __str__ must not hide the failure
        return "<message unavailable>"


def _find_refused_kernels(errors: Iterable[BaseException], message: str) -> List[str]:
    """The names that Inductor gave the kernels that a C++ compiler refused, which are made of those
    of their operators: the error quotes their lines; empty if unknown.
    """
    quoted = {" ".join(line.split()) for line in _QUOTED.findall(message)}
    if not quoted:
        return []
    for error in errors:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_name == "<module>" and "async_compile" in frame.f_globals:
                found = [
                    name
                    for name, text in _KERNEL.findall(_read(frame.f_code.co_filename))
                    if quoted & {" ".join(line.split()) for line in text.splitlines()}
                ]
                if found:
                    return found[:_MOST_KERNELS]
    return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

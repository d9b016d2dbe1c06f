"""One kernel for one GPU that need not be there, and what its compiler says: right, refused, or
broken, by the pass that failed.

A kernel that the language does not allow is refused by the front end with a sentence for its
author, the same for every target. What fails behind it, in a pass of MLIR, in LLVM or in the
assembler, is the compiler's. A target on which even an empty kernel fails is one that this
installation cannot compile for.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import textwrap
import time
from typing import Any, Dict, List, Optional, Sequence

from ..protocol.failure import name_signal
from ..protocol.kernels import KernelLaunch, TargetAnswer
from ..protocol.words import KernelOutcome

TARGETS = {
    "cuda:80": ("cuda", 80, 32),
    "cuda:90": ("cuda", 90, 32),
    "cuda:100": ("cuda", 100, 32),
    "gfx942": ("hip", "gfx942", 64),
}
_MAX_TEXT = 6000
_SECONDS = 60.0
_MARKS = (
    re.compile(r"line \d+; (?:fatal|error)\s*: (.*)"),
    re.compile(r"ptxas (?:fatal|error)\s*: (.*)"),
    re.compile(r"error: .*"),
    re.compile(r"Assertion `.*' failed.*"),
    re.compile(r"LLVM ERROR: .*"),
    re.compile(r"UNREACHABLE executed.*"),
)
_PASS = re.compile(
    r"(?:Running|Failed after) \"?([\w-]+)\"?|pass '?([\w-]+)'? failed|Pipeline failed while"
    r" executing \[`([\w-]+)`"
)


def compile_for(kernel: Any, row: KernelLaunch, name: str) -> TargetAnswer:
    """Compiles the kernel of a launch for a target, in a forked child.

    Args:
        kernel: the function that Triton compiles.
        row: the launch, with the kinds and values of its arguments.
        name: of the target, such as `cuda:90`; no device of that kind need be here.

    Returns:
        The outcome, `died` and `timeout` among them, with the line of the message that counts and
        the seconds that it took.
    """
    handle, log = tempfile.mkstemp(prefix="kernel-")
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        status = 3
        try:
            status = _compile_and_tell(kernel, row, name)
        finally:
            os._exit(status)
    os.close(handle)
    status, late = _wait(pid)
    with open(log, encoding="utf-8", errors="replace") as source:
        text = source.read()
    os.unlink(log)
    answer = _judge(text, status, late)
    return {**answer, "target": name, "seconds": round(time.monotonic() - started, 3)}


def _wait(pid: int) -> Any:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status, False
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1], True


_TOLD = "\x01bugreport\x01"
_CAUSE = "caused by "
#: What the front end raises by mistake; whatever else it raises is a sentence for the author of the
#: kernel.
_MISTAKES = ("AttributeError", "KeyError", "IndexError", "UnboundLocalError", "RecursionError")


def _compile_and_tell(kernel: Any, row: KernelLaunch, name: str) -> int:
    import sys

    try:
        compile_kernel(kernel, row, name)
    except BaseException as error:  # Triton's compiler may raise anything
        names = [cls.__name__ for cls in type(error).__mro__]
        cause = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        told = "{}: {}".format(type(cause).__name__, str(cause).strip() or "no reason given")
        sys.stderr.write("\n" + _TOLD + ",".join(names) + "\n" + str(error))
        if cause is not error:
            sys.stderr.write("\n" + _CAUSE + told)
        sys.stderr.flush()
        return 2
    return 0


def compile_kernel(kernel: Any, row: KernelLaunch, name: str) -> Any:
    """What Triton does at a launch, for a target that is named instead of found.

    Args:
        kernel: a jit object of Triton.
        row: its `signature`, `constexprs`, `aligned` and `options` are what it is compiled for.
        name: a key of `TARGETS`.

    Returns:
        What `triton.compile` gives (`triton/compiler/compiler.py`).

    Raises:
        Exception: whatever Triton raises.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = dict(row["signature"])
    constants = {key: _read_value(value) for key, value in row["constexprs"].items()}
    new = "constexprs" in ASTSource.__init__.__code__.co_varnames
    if not new:  # until 3.2 the signature has no constants in it
        signature = {key: value for key, value in signature.items() if value != "constexpr"}
    names = list(row["signature"])
    attrs = {(names.index(key),): [["tt.divisibility", 16]] for key in row.get("aligned", ())}
    source = ASTSource(kernel, signature, constants, *([attrs] if new else []))
    return triton.compile(source, target=GPUTarget(*TARGETS[name]), options=dict(row["options"]))


def _read_value(value: Any) -> Any:
    if isinstance(value, dict) and "tl" in value:
        import triton.language as tl

        return getattr(tl, value["tl"])
    return value


def _judge(text: str, status: int, late: bool) -> TargetAnswer:
    before, _, told = text.partition(_TOLD)
    classes, _, message = told.partition("\n")
    names = classes.split(",") if classes else []
    found: TargetAnswer = {"exception": names[0] if names else None, "signal": None}
    if late:
        found["outcome"] = KernelOutcome.TIMEOUT
    elif os.WIFSIGNALED(status):
        found["outcome"] = KernelOutcome.DIED
        found["signal"] = name_signal(os.WTERMSIG(status))
    elif os.WEXITSTATUS(status) == 0:
        return {**found, "outcome": KernelOutcome.OK, "message": "", "pass": None, "log": ""}
    else:
        found["outcome"] = (
            KernelOutcome.REFUSED if _is_refusal(names, message) else KernelOutcome.RAISES
        )
    found["message"] = _find_headline(before, message)
    found["pass"] = _find_pass(before)
    found["log"] = (message + "\n" + before)[-_MAX_TEXT:].strip()
    return found


def _is_refusal(names: List[str], message: str) -> bool:
    """Whether the front end said no in a sentence of its own.

    An internal error that it wrapped is none.
    """
    if "CompilationError" not in names:
        return False
    _, _, cause = message.rpartition("\n" + _CAUSE)
    name, _, reason = cause.partition(": ")
    return name not in _MISTAKES and not (name == "AssertionError" and reason == "no reason given")


def _find_headline(before: str, message: str) -> str:
    """The sentence that matters, without the place it is about: paths and lines are the user's."""
    for pattern in _MARKS:
        for text in (before, message):
            match = pattern.search(text)
            if match:
                return match.group(match.lastindex or 0).strip()[:400]
    _, is_caused, cause = message.rpartition("\n" + _CAUSE)
    if is_caused:
        return cause.partition(": ")[2][:400]
    lines = [line.strip() for line in message.splitlines() if line.strip() and line.strip() != "^"]
    return (lines[-1] if lines else "")[:400]


def _find_pass(text: str) -> Optional[str]:
    """The pass of MLIR that failed, as its crash reproducer names it."""
    match = _PASS.search(text)
    return next((group for group in match.groups() if group), None) if match else None


CONTROL = """
import triton
import triton.language as tl

@triton.jit
def control(ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(ptr + at, tl.load(ptr + at) + 1)
"""
_CONTROL_ROW: KernelLaunch = {
    "signature": {"ptr": "*fp32", "BLOCK": "constexpr"},
    "constexprs": {"BLOCK": 32},
    "aligned": ["ptr"],
    "options": {},
}


def find_unusable_targets(folder: str, wanted: Sequence[str] = tuple(TARGETS)) -> Dict[str, str]:
    """Those of `wanted` that this installation cannot compile for, with the reason; Triton itself
    may be missing or too old.
    """
    try:
        import triton  # noqa: F401
        from triton.backends.compiler import GPUTarget  # noqa: F401
    except ImportError as error:
        return dict.fromkeys(
            wanted, "this Triton cannot compile for a GPU that is not there (" + str(error) + ")"
        )
    import importlib.util

    path = os.path.join(folder, "bugreport_control.py")
    with open(path, "w", encoding="utf-8") as out:
        out.write(textwrap.dedent(CONTROL))
    spec = importlib.util.spec_from_file_location("bugreport_control", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {}
    for name in wanted:
        answer = compile_for(module.control, _CONTROL_ROW, name)
        if answer["outcome"] != KernelOutcome.OK:
            found[name] = "not even an empty kernel compiles: " + answer["message"][:160]
    warm = next((name for name in wanted if name not in found), None)
    if warm is not None:  # what is loaded here once, every fork has
        compile_kernel(module.control, _CONTROL_ROW, warm)
    return found

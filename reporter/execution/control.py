"""The control run: the same bytes without the compiler have to pass.

A plain repro does not say whether eager mode works; `TORCHDYNAMO_DISABLE=1` does, on every release
from 2.0 on (`torch/_dynamo/eval_frame.py: optimize`). What is exported is left to Python by
`EXPORTS_AS_MODULES`, which makes every exported program the module itself. A repro in the harness
asks by itself and ends in exit code 125.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from collectors.protocol.candidates import EXPORTS_AS_MODULES
from collectors.protocol.repro_words import DISABLING_VARIABLE, is_harness
from collectors.protocol.variation import Overrides
from reporter.core.answer import Answer
from reporter.core.kinds import CandidateOutcome
from reporter.execution.fresh_process import run_cold

#: Everything is left to Python, as `DISABLING_VARIABLE` does, for a candidate of a warm worker.
WITHOUT_COMPILER: Overrides = {"control": True}
#: The same where no value that nobody wrote may count.
WITHOUT_COMPILER_FILLED: Overrides = {"control": True, "fill": True}
_COMPILES = re.compile(r"\bcompile\(|@torch\.compile\b|\b_dynamo\b|\bexport\b")
_IS_EXPORTED = re.compile(r"\btorch\.(?:onnx\.)?export\b|\bfrom torch import .*\bexport\b")

#: The file without its last statement: what compiles nothing fails in that one alone.
_WITHOUT_END = """\
import ast
tree = ast.parse(open("repro.py").read())
del tree.body[-1]
exec(compile(tree, "repro.py", "exec"))
"""


def needs_control(text: str) -> bool:
    """Whether a failure of a repro counts only if its control run passes.

    Not of one that says by itself where eager mode fails, nor of one that compiles nothing.
    """
    return not is_harness(text) and _COMPILES.search(text) is not None


def run_control(
    python: Path,
    text: str,
    timeout: float,
    warm_cache: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Answer:
    """The text in a fresh process without the compiler.

    Args:
        timeout: seconds.
        warm_cache: a warm-up's cache whose toolchain checks are used.
        env: the environment in place of this process's.
    """
    disabled = {**(os.environ if env is None else env), DISABLING_VARIABLE: "1"}
    text = f"{EXPORTS_AS_MODULES}{text}" if _IS_EXPORTED.search(text) else text
    return run_cold(python, text, timeout, disabled, describe=True, warm_cache=warm_cache)


def build_control_command(text: str) -> list[str] | None:
    """The control run of a `repro.py` as its reader starts it, where setting the variable is not
    all: the interpreter, then arguments.
    """
    if not needs_control(text):
        return ["python", "-c", _WITHOUT_END] if not is_harness(text) else None
    if not _IS_EXPORTED.search(text):
        return None
    run = "import runpy\nrunpy.run_path('repro.py', run_name='__main__')"
    return ["python", "-c", EXPORTS_AS_MODULES + run]


def describe_control(control: Answer) -> str:
    """Why a failure says nothing of the compiler, in one sentence."""
    if control.outcome == CandidateOutcome.TIMEOUT:
        return "without the compiler it does not end either"
    said = (
        control.format_error(120)
        if control.failure
        else control.signal or f"exit code {control.exit}"
    )
    return f"without the compiler it fails too ({said})"

"""The control run: the same bytes without the compiler have to pass.

A plain repro does not say whether eager mode works; `TORCHDYNAMO_DISABLE=1` does, on every release
from 2.0 on (`torch/_dynamo/eval_frame.py: optimize`). A repro in the harness asks by itself and
ends in exit code 125.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from collectors.protocol import Overrides
from reporter.core.answer import Answer
from reporter.execution.fresh_process import run_cold

#: The variable that leaves every call to Python, and the same for a candidate of a warm worker.
VARIABLE = "TORCHDYNAMO_DISABLE"
WARM: Overrides = {"control": True}
_COMPILES = re.compile(r"\bcompile\(|@torch\.compile\b|\b_dynamo\b")


def needs_control(text: str) -> bool:
    """Whether a failure of a repro counts only if its control run passes.

    Not of one that says by itself where eager mode fails, nor of one that compiles nothing.
    """
    return "sys.exit(125)" not in text and _COMPILES.search(text) is not None


def run_control(python: Path, text: str, timeout: float, warm: Path | None = None) -> Answer:
    """The text in a fresh process without the compiler.

    Args:
        timeout: seconds.
        warm: a warm-up's cache whose toolchain checks are used.
    """
    return run_cold(python, text, timeout, {**os.environ, VARIABLE: "1"}, describe=True, warm=warm)


def describe_control(control: Answer) -> str:
    """Why a failure says nothing of the compiler, in one sentence."""
    if control.outcome == "timeout":
        return "without the compiler it does not end either"
    said = control.said(120) if control.failure else control.signal or f"exit code {control.exit}"
    return f"without the compiler it fails too ({said})"

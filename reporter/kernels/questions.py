"""Fresh processes that answer about Triton kernels (see `collectors.triton.run`), each with a cache
of its own.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

from collectors.protocol.failure import read_tail
from collectors.protocol.kernels import KernelsAnswer, KernelSpec
from reporter.execution.fresh_process import run_process
from reporter.execution.launch import COLLECTORS, build_variables

_IMPORT = re.compile(rb"^\s*(?:import\s(?:[^#\n]*[\s,])?triton\b|from triton\b)", re.MULTILINE)


def defines_kernels(script: Path) -> bool:
    """Whether a script imports Triton and marks functions as kernels."""
    try:
        text = script.read_bytes()
    except OSError:
        return False
    return (
        _IMPORT.search(text) is not None
        and re.search(rb"^\s*@\S*jit\b", text, re.MULTILINE) is not None
    )


def ask(python: Path, spec: KernelSpec, cwd: Path, timeout: float) -> KernelsAnswer:
    """The answer about kernels, or `{"skipped": reason}` where the process gave none.

    Args:
        python: the interpreter; one without Triton answers `missing`.
        spec: the question; the folder and the file of the answer are filled in here.
        cwd: the folder that the process runs in.
        timeout: in seconds.
    """
    with tempfile.TemporaryDirectory(prefix="kernels-") as name:
        folder = Path(name).resolve()
        answer = folder / "answer.json"
        request: KernelSpec = {**spec, "folder": str(folder), "answer": str(answer)}
        (folder / "spec.json").write_text(json.dumps(request))
        variables = {
            **build_variables(folder / "inductor"),
            "TRITON_CACHE_DIR": str(folder / "cache"),
        }
        variables["TRITON_INTERPRET"] = "1" if spec["what"].startswith("interpret") else "0"
        command = [str(python), str(COLLECTORS / "entry" / "triton_main.py")]
        command.append(str(folder / "spec.json"))
        code = run_process(command, cwd, variables, timeout, folder)
        if code is None:
            return {"skipped": f"no answer within {timeout:g} s"}
        try:
            found: KernelsAnswer = json.loads(answer.read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            lines = read_tail(folder / "stderr").strip().splitlines()
            return {"skipped": f"the process ended with {code}: {lines[-1] if lines else ''}"}


def has_gpu() -> bool:
    """Whether kernels could be launched for real, which is then better than anything here."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/kfd")

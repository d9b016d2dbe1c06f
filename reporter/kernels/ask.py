"""Fresh processes that answer about Triton kernels (see `collectors.triton.run`), each with a cache
of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from collectors.protocol import KernelsAnswer, KernelSpec
from reporter.execution.launch import COLLECTORS, environment, kill_group
from reporter.execution.usage import METER

_IMPORT = re.compile(rb"^\s*(?:import triton\b|from triton\b)", re.MULTILINE)


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
    """The answer, or `{"skipped": reason}` where the process gave none within `timeout` seconds."""
    with tempfile.TemporaryDirectory(prefix="kernels-") as name:
        folder = Path(name).resolve()
        answer = folder / "answer.json"
        request: KernelSpec = {**spec, "folder": str(folder), "answer": str(answer)}
        (folder / "spec.json").write_text(json.dumps(request))
        variables = {**environment(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "cache")}
        variables["TRITON_INTERPRET"] = "1" if spec["what"].startswith("interpret") else "0"
        process = subprocess.Popen(
            [
                str(python),
                str(COLLECTORS / "entry" / "tool_main.py"),
                "triton",
                str(folder / "spec.json"),
            ],
            cwd=cwd,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        METER.add(processes=1)
        try:
            _, said = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"skipped": f"no answer within {timeout:g} s"}
        finally:
            kill_group(process.pid)
            process.wait()
        try:
            found: KernelsAnswer = json.loads(answer.read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            lines = said.decode(errors="replace").strip().splitlines()
            return {
                "skipped": (
                    f"the process ended with {process.returncode}: {lines[-1] if lines else ''}"
                )
            }


def has_gpu() -> bool:
    """Whether kernels could be launched for real, which is then better than anything here."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/kfd")

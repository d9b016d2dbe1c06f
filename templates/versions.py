"""The Versions section: the lines of `python -m torch.utils.collect_env` that matter, and those it has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def versions_block(env: Mapping[str, Any]) -> str:
    """Text for the issue's Versions section, from what `collectors.environment.environment` found.

    The wording of collect_env is kept where it has the line, because people and robots look for it.
    """
    compiler = str(env.get("compiler") or "")
    is_clang = compiler.startswith("clang")
    lines = [
        ("PyTorch version", env.get("torch")),
        ("PyTorch git revision", env.get("git")),
        ("Is debug build", env.get("debug")),
        ("CUDA used to build PyTorch", env.get("cuda")),
        ("ROCM used to build PyTorch", env.get("hip")),
        None,
        ("OS", _with_machine(env)),
        ("GCC version", "Could not collect" if is_clang else compiler or "Could not collect"),
        ("Clang version", compiler if is_clang else "Could not collect"),
        ("Libc version", env.get("libc")),
        None,
        (
            "Python version",
            f"{env.get('python')} ({env.get('bits')}-bit runtime, {env.get('implementation')})",
        ),
        ("Is CUDA available", bool(env.get("gpus"))),
        ("GPU models and configuration", "; ".join(env.get("gpus") or ()) or None),
        ("Nvidia driver version", env.get("driver")),
        ("cuDNN version", env.get("cudnn")),
        None,
        ("CPU", env.get("cpu")),
        ("CPU cores", f"{env.get('cores')} (torch threads: {env.get('threads')})"),
        ("CPU capability", env.get("cpu_capability")),
        None,
        ("Versions of relevant libraries", ""),
        *((f"[pip3] {name}", version) for name, version in dict(env.get("packages") or {}).items()),
        ("Caches", _settings(env.get("caches")) or "not loaded"),
        ("Environment variables", _settings(env.get("variables")) or "none that matter"),
        ("Non-default torch configs", _settings(env.get("configs")) or "none"),
    ]
    return "\n".join("" if line is None else _line(*line) for line in lines)


def _line(label: str, value: object) -> str:
    if label.startswith("[pip3]"):
        return f"{label}=={value}"
    return f"{label}: {'N/A' if value is None else value}".rstrip()


def _with_machine(env: Mapping[str, Any]) -> str:
    return f"{env.get('os') or 'unknown'} ({env.get('machine') or 'unknown'})"


def _settings(values: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name}={value}" for name, value in dict(values or {}).items())

"""The Versions section: the lines of `python -m torch.utils.collect_env` that matter, and those it
has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What was found of the machine, or of one part of it.
_Facts = Mapping[str, Any]
#: A label, and its value; None is written as N/A.
_Line = tuple[str, object]


def render_versions(env: _Facts) -> str:
    """Text for the issue's Versions section, from what
    `collectors.machine.environment.collect_environment` found.

    The wording of collect_env is kept where it has the line, because people and robots look for it.
    """
    paragraphs = (
        _list_builds(env),
        _list_tools(env),
        _list_devices(env),
        _list_cpu(env),
        _list_packages_and_settings(env),
    )
    return "\n\n".join("\n".join(_write_line(*line) for line in lines) for lines in paragraphs)


def _list_builds(env: _Facts) -> list[_Line]:
    """What torch was built from, and for."""
    return [
        ("PyTorch version", env.get("torch")),
        ("PyTorch git revision", env.get("git")),
        ("Is debug build", env.get("debug")),
        ("CUDA used to build PyTorch", env.get("cuda")),
        ("ROCM used to build PyTorch", env.get("hip")),
        *_keep_known(("XPU used to build PyTorch", env.get("xpu"))),
    ]


def _list_tools(env: _Facts) -> list[_Line]:
    tools = dict(env.get("tools") or {})
    return [
        ("OS", _with_machine(env)),
        ("GCC version", _read_tool(env, "gcc")),
        ("Clang version", _read_tool(env, "clang")),
        ("CMake version", tools.get("cmake") or "Could not collect"),
        ("Libc version", env.get("libc")),
    ]


def _list_devices(env: _Facts) -> list[_Line]:
    """Python, and the accelerators that torch sees from it."""
    tools = dict(env.get("tools") or {})
    rocm = dict(env.get("rocm") or {})
    variables = dict(env.get("variables") or {})
    return [
        ("Python version", _describe_python(env)),
        ("Is CUDA available", bool(env.get("cuda_available", env.get("gpus")))),
        ("CUDA runtime version", tools.get("nvcc") or "Could not collect"),
        *_keep_known(("CUDA_MODULE_LOADING set to", variables.get("CUDA_MODULE_LOADING"))),
        ("GPU models and configuration", "; ".join(env.get("gpus") or ()) or None),
        ("Nvidia driver version", env.get("driver")),
        ("cuDNN version", env.get("cudnn")),
        *_keep_known(
            ("Is XPU available", env.get("xpu_available")),
            ("HIP runtime version", rocm.get("HIP Runtime")),
            ("MIOpen runtime version", rocm.get("MIOpen")),
        ),
        ("Is XNNPACK available", "XNNPACK" in (env.get("libraries") or ())),
    ]


def _list_cpu(env: _Facts) -> list[_Line]:
    """The processor, and what compiles for it."""
    return [
        ("CPU", env.get("cpu")),
        *_describe_processor(dict(env.get("processor") or {})),
        ("CPU cores", f"{env.get('cores')} (torch threads: {env.get('threads')})"),
        ("CPU capability", env.get("cpu_capability")),
        ("Vector ISA of inductor", env.get("vector_isa") or "not chosen in this process"),
        ("C++ compiler of inductor", env.get("compiler") or "does not start"),
    ]


def _list_packages_and_settings(env: _Facts) -> list[_Line]:
    return [
        ("Versions of relevant libraries", ""),
        *((f"[pip3] {name}", version) for name, version in dict(env.get("packages") or {}).items()),
        *((f"[conda] {name}", version) for name, version in dict(env.get("conda") or {}).items()),
        ("Triton", _describe_triton(dict(env.get("triton") or {}))),
        ("Caches", _write_settings(env.get("caches")) or "not loaded"),
        ("Environment variables", _write_settings(env.get("variables")) or "none that matter"),
        ("Non-default torch configs", _write_settings(env.get("configs")) or "none"),
    ]


def _keep_known(*lines: _Line) -> tuple[_Line, ...]:
    """Lines that say something only on the machines that have it."""
    return tuple(line for line in lines if line[1] not in (None, False, ""))


def _read_tool(env: _Facts, name: str) -> str:
    """A compiler's version; an environment written before tools were asked has the one that
    inductor calls.
    """
    tools, compiler = env.get("tools"), str(env.get("compiler") or "")
    if tools:
        return tools.get(name) or "Could not collect"
    return (
        compiler
        if compiler and compiler.startswith("clang") == (name == "clang")
        else "Could not collect"
    )


def _describe_python(env: _Facts) -> str:
    built = f" [{env['python_compiler']}]" if env.get("python_compiler") else ""
    return (
        f"{env.get('python')}{built} ({env.get('bits')}-bit runtime, {env.get('implementation')})"
    )


def _describe_processor(processor: _Facts) -> tuple[_Line, ...]:
    numbers = ", ".join(
        f"{name} {processor[name]}"
        for name in ("vendor", "family", "stepping")
        if processor.get(name)
    )
    number = processor.get("number")
    return _keep_known(
        ("CPU kind", f"{numbers}, model {number}" if number else numbers),
        ("CPU caches", _write_settings(processor.get("caches"))),
        ("CPU vector flags", processor.get("flags")),
        ("NUMA nodes", processor.get("nodes")),
        ("Virtual machine", processor.get("virtual")),
    )


def _describe_triton(triton: _Facts) -> str:
    if not triton:
        return "not installed"
    mode = ", interpreted" if triton.get("interpret") else ""
    return (
        f"{triton.get('version')} (backends:"
        f" {', '.join(triton.get('backends') or ()) or 'none'}{mode})"
    )


def _write_line(label: str, value: object) -> str:
    if label.startswith("[pip3]"):
        return f"{label}=={value}"
    return f"{label}: {'N/A' if value is None else value}".rstrip()


def _with_machine(env: _Facts) -> str:
    return f"{env.get('os') or 'unknown'} ({env.get('machine') or 'unknown'})"


def _write_settings(values: _Facts | None) -> str:
    return ", ".join(f"{name}={value}" for name, value in dict(values or {}).items())

"""The thread-local and global state of torch that a compiled call runs under.

A fork server runs in a new thread, where torch's thread-local switches are back at their defaults;
`read_state` reads them before the fork and `apply_state` restores them, so a rung sees exactly what
the user's call saw.
"""

from __future__ import annotations

import contextlib
from typing import Iterator, Optional, Tuple

import torch
import torch.overrides

from ..protocol.events import ContextState


def read_autocast_settings(device: str) -> Tuple[bool, str]:
    """(enabled, dtype name) of autocast on a device type, on every release since 2.0."""
    try:
        if device == "cpu":
            try:
                return torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))
            except (TypeError, AttributeError):
                return torch.is_autocast_cpu_enabled(), str(torch.get_autocast_cpu_dtype())
        try:
            return torch.is_autocast_enabled(device), str(torch.get_autocast_dtype(device))
        except (TypeError, AttributeError):
            return torch.is_autocast_enabled(), str(torch.get_autocast_gpu_dtype())
    except RuntimeError:
        return False, "torch.float32"


def read_state() -> ContextState:
    """The switches of the calling thread, JSON-able."""
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": {device: list(read_autocast_settings(device)) for device in ("cpu", "cuda")},
        "autocast_cache": torch.is_autocast_cache_enabled(),
        "default_dtype": str(torch.get_default_dtype()),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "default_device": _read_default_device(),
    }


def _read_default_device() -> Optional[str]:
    """The device of `torch.set_default_device` or `with torch.device(…)`: both are a mode of the
    calling thread (`torch/utils/_device.py: DeviceContext`, 2.0 to 2.15).
    """
    for mode in reversed(torch.overrides._get_current_function_mode_stack()):
        if type(mode).__name__ == "DeviceContext":
            return str(mode.device)
    return None


@contextlib.contextmanager
def apply_state(state: ContextState) -> Iterator[None]:
    """Runs the body under a captured state.

    Only thread-local switches: the rest came along with the fork.
    """
    with contextlib.ExitStack() as stack:
        if state["inference"]:
            stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.set_grad_enabled(state["grad"]))
        device = state.get("default_device")
        if device is not None and device != _read_default_device():
            stack.enter_context(torch.device(device))
        for kind, (enabled, dtype) in state["autocast"].items():
            if enabled:
                stack.enter_context(
                    torch.autocast(
                        kind,
                        dtype=getattr(torch, dtype.split(".")[-1]),
                        cache_enabled=state["autocast_cache"],
                    )
                )
        yield

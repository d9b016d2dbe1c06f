"""Accelerators, read from the driver's files: a process that initializes CUDA cannot be forked any
more.

Only where the program itself has already initialized a device is torch asked for it. Nothing here
has been seen on a machine that has a GPU.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
from typing import Dict, List, Optional

import torch

from ..protocol.environment import DeviceFacts


def collect_device_facts() -> DeviceFacts:
    """What is known of each kind of device, or None."""
    names = _list_gpus()
    return {
        "cuda_available": _is_cuda_available(names),
        "gpus": names,
        "driver": _read_driver(),
        "cudnn": _read_cudnn(),
        "rocm": _read_rocm(),
        "xpu_available": _is_xpu_available(),
    }


def _list_gpus() -> List[str]:
    """Names of the GPUs, without their serial numbers."""
    with contextlib.suppress(Exception):  # a driver may fail in any way
        if torch.cuda.is_initialized():
            return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return _find("/proc/driver/nvidia/gpus/*/information", r"^Model:\s*(.+)$") + _find(
        "/sys/class/kfd/kfd/topology/nodes/*/properties", r"^gfx_target_version ([1-9]\d+)$", "gfx "
    )


def _find(pattern: str, wanted: str, prefix: str = "") -> List[str]:
    names = []
    for path in sorted(glob.glob(pattern)):
        with contextlib.suppress(OSError):
            with open(path, encoding="utf-8", errors="replace") as source:
                found = re.search(wanted, source.read(), re.MULTILINE)
            if found:
                names.append(prefix + found.group(1).strip())
    return names


def _is_cuda_available(names: List[str]) -> bool:
    """What torch.cuda.is_available would say, without asking the runtime."""
    with contextlib.suppress(Exception):  # as above
        if torch.cuda.is_initialized():
            return True
    built = bool(torch.version.cuda or getattr(torch.version, "hip", None))
    return built and bool(names) and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1")


def _read_driver() -> Optional[str]:
    """The version of NVIDIA's or AMD's kernel driver."""
    for path, pattern in (
        ("/proc/driver/nvidia/version", r"\b\d{3}\.\d+(\.\d+)?\b"),
        ("/sys/module/amdgpu/version", r"^[\d.]+"),
    ):
        with contextlib.suppress(OSError):
            with open(path, encoding="utf-8", errors="replace") as source:
                found = re.search(pattern, source.read())
            if found:
                return found.group()
    return None


def _read_cudnn() -> Optional[int]:
    """The cuDNN torch has loaded, as its own number (90100 is 9.1.0)."""
    with contextlib.suppress(Exception):  # as above
        if torch.cuda.is_initialized():
            return int(torch.backends.cudnn.version() or 0) or None
    return None


def _read_rocm() -> Dict[str, Optional[str]]:
    """What a ROCm build says of its own libraries; empty for other builds."""
    if not getattr(torch.version, "hip", None):
        return {}
    text = torch.__config__.show()
    found = {}
    for name in ("HIP Runtime", "MIOpen"):
        match = re.search(name + r"\D*([\d.]+)", text)
        found[name] = match.group(1) if match else None
    version = getattr(torch.version, "rocm", None)
    return {**found, "ROCm": str(version) if version else None}


def _is_xpu_available() -> Optional[bool]:
    """Whether an XPU is in use; False without asking its runtime where torch was not built for
    one.
    """
    if not getattr(torch.version, "xpu", None):
        return False
    with contextlib.suppress(Exception):  # as above
        if torch.xpu.is_initialized():
            return True
    return None

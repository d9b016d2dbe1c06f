"""What a maintainer needs to know about the machine, in under two seconds and without naming
anyone.

`torch.utils.collect_env` asks pip, conda, lscpu and nvidia-smi and takes seconds; it leaves out
what decides most compiler bugs (non-default configurations, the compiler inductor calls, the
instruction set it vectorises for). Here everything is read in-process but for the versions of a few
tools, asked at the same time. The host builds what may leave anew (`reporter.report.environment`);
the rest is what its leak check looks for.
"""

from __future__ import annotations

import os
import platform
import sys

import torch

from ..protocol import EnvironmentFacts, TorchFacts
from . import devices, machine, packages
from .configs import caches, choices, configs, find_changed_settings
from .internal_names import internals
from .variables import variables
from .vocabulary import vocabulary

__all__ = ["find_changed_settings", "configs", "environment", "internals", "vocabulary"]


def environment() -> EnvironmentFacts:
    """The machine and its torch, JSON-able.

    Call it in the thread of the user: configurations are per thread.
    """
    processor = machine.cpu()
    tools = machine.toolchain()
    found = devices.devices()
    return {
        **_torch(),
        "python": platform.python_version(),
        "python_compiler": platform.python_compiler(),
        "implementation": platform.python_implementation(),
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "os": machine.system(),
        "machine": platform.machine(),
        "libc": "-".join(part for part in platform.libc_ver() if part) or None,
        "cpu": processor["model"],
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu_capability": machine.cpu_capability(),
        "vector_isa": machine.vector_isa(),
        "compiler": tools["compiler"],
        "tools": tools,
        **found,
        "cudnn": found["cudnn"] or tools["cudnn"],
        "libraries": machine.libraries(),
        "pip": packages.pip_version(),
        "packages": packages.pip_packages(),
        "conda": packages.conda_packages(),
        "triton": packages.triton(),
        "variables": variables(),
        "configs": configs(),
        "choices": choices(),
        "caches": caches(),
    }


def _torch() -> TorchFacts:
    return {
        "torch": str(torch.__version__),
        "git": getattr(torch.version, "git_version", None),
        "debug": bool(getattr(torch.version, "debug", False)),
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
        "xpu": getattr(torch.version, "xpu", None),
    }

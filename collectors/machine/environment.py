"""What a maintainer needs to know about the machine, in under two seconds and without naming
anyone.

`torch.utils.collect_env` asks pip, conda, lscpu and nvidia-smi and takes seconds; it leaves out
what decides most compiler bugs (non-default configurations, the compiler inductor calls, the
instruction set it vectorizes for). Here everything is read in-process but for the versions of a few
tools, asked at the same time. The host builds what may leave anew (`reporter.report.environment`);
the rest is what its leak check looks for.
"""

from __future__ import annotations

import os
import platform
import sys

import torch

from ..protocol.environment import EnvironmentFacts, TorchFacts
from . import devices, hardware, packages
from .configs import find_changed_choices, read_cache_settings, show_changed_settings
from .environment_variables import read_variables


def collect_environment() -> EnvironmentFacts:
    """The machine and its torch, JSON-able.

    Call it in the thread of the user: configurations are per thread.
    """
    processor = hardware.read_cpu()
    tools = hardware.collect_tool_versions()
    found = devices.collect_device_facts()
    return {
        **_describe_torch(),
        "python": platform.python_version(),
        "python_compiler": platform.python_compiler(),
        "implementation": platform.python_implementation(),
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "os": hardware.read_operating_system(),
        "machine": platform.machine(),
        "libc": "-".join(part for part in platform.libc_ver() if part) or None,
        "cpu": processor["model"],
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu_capability": hardware.read_cpu_capability(),
        "vector_isa": hardware.read_vector_isa(),
        "compiler": tools["compiler"],
        "tools": tools,
        **found,
        "cudnn": found["cudnn"] or tools["cudnn"],
        "libraries": hardware.list_torch_libraries(),
        "pip": packages.read_pip_version(),
        "packages": packages.list_pip_packages(),
        "conda": packages.list_conda_packages(),
        "triton": packages.find_triton(),
        "variables": read_variables(),
        "configs": show_changed_settings(),
        "choices": find_changed_choices(),
        "caches": read_cache_settings(),
    }


def _describe_torch() -> TorchFacts:
    return {
        "torch": str(torch.__version__),
        "git": getattr(torch.version, "git_version", None),
        "debug": bool(getattr(torch.version, "debug", False)),
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
        "xpu": getattr(torch.version, "xpu", None),
    }

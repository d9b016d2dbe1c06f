"""Installed packages by a list of public names: what is called `somecompany-torch` is nobody's
business.

The names are those that `torch.utils.collect_env` looks for by pattern, as far as they are on PyPI
or conda-forge.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import re
import sys
from importlib import metadata
from typing import Dict

from ..protocol import TritonFacts

#: The local part of a version that torch's own wheels have.
_PUBLIC_BUILD = re.compile(
    r"cpu(\.cxx11\.abi)?|cu\d+(\.with\.pypi\.cudnn)?|rocm[\d.]+|xpu|git[0-9a-f]{7,40}"
)
_PUBLIC = re.compile(
    r"torch|torch-bugreport|torchvision|torchaudio|torchtext|torchdata|torchao|torchtune"
    r"|torchtitan|torchrec|torchcodec|torchmetrics"
    r"|torch-(?:xla|tensorrt|geometric|scatter|sparse|cluster|c-dlpack-ext)|functorch|fbgemm-gpu"
    r"|executorch"
    r"|intel-extension-for-pytorch|pytorch-(?:lightning|triton|triton-rocm|triton-xpu|cuda"
    r"|mutex)|pytorch"
    r"|triton|triton-(?:rocm|xpu|windows)|numpy|numpy-base|mypy|mypy[-_]extensions|flake8|optree"
    r"|onnx|onnxruntime|onnxruntime-gpu|onnxscript|onnx-ir|mkl|mkl-(?:include|static|service)"
    r"|mkl_fft|mkl_random"
    r"|intel-openmp|libtorch|libblas|magma-cuda\d*|cudatoolkit|tbb|blas|dpcpp-cpp-rt|intel-\w+-rt"
    r"|nvidia-(?:cublas|cuda-cupti|cuda-nvrtc|cuda-runtime|cudnn|cufft|cufile|curand|cusolver"
    r"|cusparse|cusparselt"
    r"|nccl|nvjitlink|nvshmem|nvtx|cutlass-dsl)(?:-cu\d+)?"
)


def public_version(version: str) -> str:
    """A version whose local part, when a company built it, does not say which."""
    public, _, local = str(version).partition("+")
    if not local or _PUBLIC_BUILD.fullmatch(local):
        return str(version)
    return public + "+custom"


def pip_packages() -> Dict[str, str]:
    """Public packages that this interpreter imports from, by normalised name; the first on its path
    wins.
    """
    found: Dict[str, str] = {}
    for item in metadata.distributions():
        with contextlib.suppress(Exception):
            name = re.sub(r"[-_.]+", "-", item.metadata["Name"]).lower()
            if _PUBLIC.fullmatch(name) and name not in found:
                found[name] = public_version(item.version)
    return dict(sorted(found.items()))


def conda_packages() -> Dict[str, str]:
    """Public packages in the conda environment of this interpreter; empty where it is none."""
    found: Dict[str, str] = {}
    for path in sorted(glob.glob(os.path.join(sys.prefix, "conda-meta", "*.json"))):
        name, _, rest = os.path.basename(path)[: -len(".json")].rpartition("-")[0].rpartition("-")
        if _PUBLIC.fullmatch(name) and re.fullmatch(r"[\w.]+", rest):
            found[name] = rest
    return found


def pip_version() -> str:
    """The version of pip itself; empty where there is none."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("pip")
    return ""


def triton() -> TritonFacts:
    """Triton without importing it; `backends` are folders of its package."""
    with contextlib.suppress(Exception):
        spec = importlib.util.find_spec("triton")
        origin = spec.origin if spec is not None else None
        if origin is not None:
            folder = os.path.join(os.path.dirname(origin), "backends")
            names = os.listdir(folder) if os.path.isdir(folder) else []
            backends = [name for name in sorted(names) if name in ("amd", "nvidia", "intel", "cpu")]
            versions = [
                metadata.version(name)
                for name in (
                    "triton",
                    "pytorch-triton",
                    "pytorch-triton-rocm",
                    "pytorch-triton-xpu",
                )
                if name in pip_packages()
            ]
            return {
                "version": public_version(versions[0]) if versions else None,
                "backends": backends,
                "interpret": os.environ.get("TRITON_INTERPRET") == "1",
            }
    return {}

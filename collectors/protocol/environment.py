"""The machine and its torch, as the target sees them."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, Union

from .calls import CallAnswer, SentRequest
from .words import TorchSettings


class EnvironmentRequest(SentRequest):
    """What the target says of itself."""

    op: Literal["environment"]


class TorchFacts(TypedDict):
    """The build of torch."""

    #: Release without private parts.
    torch: str
    #: Commit.
    git: Optional[str]
    debug: bool
    #: Releases of CUDA, HIP and XPU that it was built for.
    cuda: Optional[str]
    hip: Optional[str]
    xpu: Optional[str]


class DeviceFacts(TypedDict):
    """Accelerators."""

    cuda_available: bool
    #: Names of the models.
    gpus: List[str]
    driver: Optional[str]
    cudnn: Union[int, str, None]
    #: Of ROCm, by component.
    rocm: Dict[str, Optional[str]]
    xpu_available: Optional[bool]


class ProcessorFacts(TypedDict):
    """The processor, as /proc/cpuinfo has it."""

    model: Optional[str]
    vendor: Optional[str]
    family: Optional[str]
    number: Optional[str]
    stepping: Optional[str]
    #: Cores that this process may use.
    usable: Optional[int]
    #: L1d, L1i, L2, L3 -> size with its unit.
    caches: Dict[str, str]
    #: NUMA nodes.
    nodes: Optional[int]
    #: Whether it is a virtual machine.
    virtual: bool
    #: Those of the vector units, separated by spaces.
    flags: str


class TritonFacts(TypedDict, total=False):
    """Triton; empty where there is none."""

    version: Optional[str]
    backends: List[str]
    #: Whether its interpreter is switched on.
    interpret: bool


class EnvironmentFacts(TorchFacts, DeviceFacts):
    """The machine and its torch, without a name of anyone (`machine.environment`)."""

    #: Release of Python, its compiler and implementation.
    python: str
    python_compiler: str
    implementation: str
    #: 32 or 64.
    bits: int
    os: str
    machine: str
    libc: Optional[str]
    #: Model of the processor.
    cpu: Optional[str]
    processor: ProcessorFacts
    cores: Optional[int]
    #: Of torch's pool.
    threads: int
    cpu_capability: Optional[str]
    vector_isa: Optional[str]
    #: The C++ compiler that Inductor calls.
    compiler: Optional[str]
    #: compiler, gcc, clang, cmake, nvcc, cudnn -> release.
    tools: Dict[str, Optional[str]]
    #: Numerical libraries that are loaded.
    libraries: List[str]
    pip: str
    #: Name -> release, of what concerns torch.
    packages: Dict[str, str]
    conda: Dict[str, str]
    triton: TritonFacts
    #: Environment variables of torch and its compilers, without paths.
    variables: Dict[str, str]
    #: Settings that differ from their default.
    configs: TorchSettings
    #: Those of them whose value is a word that torch offers.
    choices: List[str]
    #: Whether compiled code may come from an earlier run, by setting.
    caches: Dict[str, Optional[bool]]


class EnvironmentAnswer(CallAnswer, total=False):
    """What a report may say of the machine, and what is private of the program."""

    environment: EnvironmentFacts
    #: torch's own words: public names, and the words of its sources.
    vocabulary: List[str]
    internals: List[str]
    #: Paths of the user's modules that are loaded.
    files: List[str]
    #: The program's texts that are no files, by name.
    texts: Dict[str, str]

"""The section of report.json about the machine: what `reporter.report.environment` lets leave.

A fact that a release did not ask for is missing; null is a fact that the machine does not tell.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from collectors.protocol.words import PlainValue
from reporter.report.sections.base import Section


class ProcessorSection(Section, frozen=True, kw_only=True):
    """The processor; `family`, `number` and `stepping` are the vendor's own."""

    model: str | None = None
    vendor: str | None = None
    #: size of each level, such as `L1d`, with its unit
    caches: dict[str, str] = {}
    #: those of the vector units, separated by spaces
    flags: str = ""
    #: whether it is a virtual machine
    virtual: bool = False
    family: str | None = None
    number: str | None = None
    stepping: str | None = None
    #: cores that the process may use
    usable: int | None = None
    #: NUMA nodes
    nodes: int | None = None


class TritonFactsSection(Section, frozen=True, kw_only=True):
    """The Triton beside torch; nothing where there is none."""

    version: str | None | UnsetType = UNSET
    backends: tuple[str, ...] | UnsetType = UNSET
    interpret: bool | UnsetType = UNSET


class EnvironmentSection(Section, frozen=True, kw_only=True):
    """The machine and its torch. Of values that may not leave it says that they are set."""

    torch: str | UnsetType = UNSET
    #: commit that torch was built from
    git: str | None | UnsetType = UNSET
    debug: bool | None | UnsetType = UNSET
    #: releases that torch was built for
    cuda: str | None | UnsetType = UNSET
    hip: str | None | UnsetType = UNSET
    xpu: str | None | UnsetType = UNSET
    python: str | UnsetType = UNSET
    python_compiler: str | UnsetType = UNSET
    implementation: str | UnsetType = UNSET
    #: 32 or 64
    bits: int | None | UnsetType = UNSET
    os: str | UnsetType = UNSET
    machine: str | UnsetType = UNSET
    libc: str | None | UnsetType = UNSET
    #: model of the processor
    cpu: str | None | UnsetType = UNSET
    processor: ProcessorSection | UnsetType = UNSET
    cores: int | None | UnsetType = UNSET
    #: of torch's pool
    threads: int | None | UnsetType = UNSET
    cpu_capability: str | None | UnsetType = UNSET
    vector_isa: str | None | UnsetType = UNSET
    #: the C++ compiler that Inductor calls
    compiler: str | None | UnsetType = UNSET
    #: release of each tool
    tools: dict[str, str | None] | UnsetType = UNSET
    cuda_available: bool | None | UnsetType = UNSET
    gpus: tuple[str, ...] | UnsetType = UNSET
    driver: str | None | UnsetType = UNSET
    cudnn: int | str | None | UnsetType = UNSET
    #: release of each component
    rocm: dict[str, str | None] | UnsetType = UNSET
    xpu_available: bool | None | UnsetType = UNSET
    #: numerical libraries that are loaded
    libraries: tuple[str, ...] | UnsetType = UNSET
    pip: str | UnsetType = UNSET
    #: release of each package
    packages: dict[str, str] | UnsetType = UNSET
    conda: dict[str, str] | UnsetType = UNSET
    triton: TritonFactsSection | UnsetType = UNSET
    #: environment variables of torch and its compilers
    variables: dict[str, str] | UnsetType = UNSET
    #: settings of torch that differ from their default, by full name
    configs: dict[str, PlainValue] | UnsetType = UNSET
    #: those of them whose value is a word that torch offers
    choices: tuple[str, ...] | UnsetType = UNSET
    #: whether compiled code may come from an earlier run, by setting
    caches: dict[str, bool | None] | UnsetType = UNSET

"""The sections of report.json about Triton: a kernel that is reported, and the kernels that
inductor writes for a repro.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from collectors.protocol.words import KernelOutcome, PlainValue
from reporter.report.sections.base import Section


class DtypeSection(Section, frozen=True, kw_only=True):
    """One of Triton's dtypes, by its name in `triton.language`."""

    tl: str


class LaunchArgumentSection(Section, frozen=True, kw_only=True):
    """What a kernel is given: a tensor by the first four, or a dtype by its name `tl`."""

    shape: tuple[int, ...] | UnsetType = UNSET
    dtype: str | UnsetType = UNSET
    stride: tuple[int, ...] | UnsetType = UNSET
    device: str | UnsetType = UNSET
    tl: str | UnsetType = UNSET


#: A parameter that the compiler knows the value of.
KernelConstant = PlainValue | DtypeSection | tuple[PlainValue, ...]
LaunchArgument = PlainValue | LaunchArgumentSection


class TargetSection(Section, frozen=True, kw_only=True):
    """What compiling a kernel for one target gave."""

    exception: str | None | UnsetType = UNSET
    signal: str | None | UnsetType = UNSET
    outcome: KernelOutcome | UnsetType = UNSET
    message: str | UnsetType = UNSET
    #: the pass of MLIR that failed
    mlir_pass: str | None | UnsetType = field(name="pass", default=UNSET)
    #: the end of what the compiler wrote
    log: str | UnsetType = UNSET
    target: str | UnsetType = UNSET
    seconds: float | UnsetType = UNSET


class LaunchSection(Section, frozen=True, kw_only=True):
    """A launch as Triton's compiler sees it. Of a kernel that leaves it has no more than types,
    constants, alignment and options.
    """

    kernel: str | UnsetType = UNSET
    file: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    #: type of each parameter: `*fp32`, `i32`, `constexpr`
    signature: dict[str, str]
    constexprs: dict[str, KernelConstant] = {}
    #: parameters that are multiples of 16
    aligned: tuple[str, ...] = ()
    arguments: dict[str, LaunchArgument] | UnsetType = UNSET
    #: num_warps, num_stages, …
    options: dict[str, PlainValue] = {}
    #: the argument that has no type which could be named, so that it was not compiled
    unknown: str | UnsetType = UNSET
    #: how often the same was launched
    times: int | UnsetType = UNSET
    targets: tuple[TargetSection, ...] | UnsetType = UNSET


class TritonSection(Section, frozen=True, kw_only=True):
    """A Triton kernel: before it is reduced its launches, then the launch and the target of the
    repro.
    """

    #: release of Triton
    version: str | None
    launches: tuple[LaunchSection, ...] | UnsetType = UNSET
    target: str | UnsetType = UNSET
    #: the pass of MLIR that failed
    mlir_pass: str | None | UnsetType = field(name="pass", default=UNSET)
    launch: LaunchSection | UnsetType = UNSET


class GeneratedKernelRow(Section, frozen=True, kw_only=True):
    """A kernel that inductor writes, and what each target makes of it."""

    kernel: str
    #: inductor's name for its kind
    heuristics: str
    signature: dict[str, str]
    constexprs: dict[str, KernelConstant]
    arguments: dict[str, LaunchArgument]
    #: outcome for each target
    targets: dict[str, KernelOutcome]
    #: message for each target that cannot compile it
    errors: dict[str, str]


class InterpretedSection(Section, frozen=True, kw_only=True):
    """How the repro ends when Triton's interpreter runs the kernels, or why that is not known."""

    skipped: str | UnsetType = UNSET
    triton: str | UnsetType = UNSET
    outcome: Literal["passes", "fails"] | UnsetType = UNSET
    #: how many kernels were launched
    launched: int | UnsetType = UNSET
    exception: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class GeneratedKernelsSection(Section, frozen=True, kw_only=True):
    """The kernels that inductor writes for a repro where Triton has to run it, or why there are
    none.
    """

    skipped: str | UnsetType = UNSET
    #: release of Triton
    version: str | UnsetType = UNSET
    kernels: tuple[GeneratedKernelRow, ...] | UnsetType = UNSET
    #: why each other target was left out
    unsupported: dict[str, str] | UnsetType = UNSET
    interpreter: InterpretedSection | UnsetType = UNSET

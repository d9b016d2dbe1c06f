"""The sections about the finished repro: its numbers and what it needs, its regression test, and
what it does in other places.
"""

from __future__ import annotations

from typing import Literal

from collectors.protocol.words import PlainValue
from reporter.core.kinds import CheckOutcome, Compiler
from reporter.report.sections.base import Section


class Requires(Section, frozen=True):
    """What the repro cannot do without; `dynamic` null is the default, `config` torch's
    settings.
    """

    backward: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    config: dict[str, PlainValue] = {}
    contexts: tuple[str, ...] = ()


class NeighbourRow(Section, frozen=True):
    """A program next to the repro, as `dtype: int8`, and whether it fails in the same way."""

    change: str
    fails: bool


class ReproInfo(Section, frozen=True):
    """The repro by its numbers; `statements` counts the tensor operations of its program.

    `neighbours` are variants that run in eager mode; those that could not be judged are left out.
    `control` is the command of the control run, the interpreter first, where it is not the same
    file with `TORCHDYNAMO_DISABLE=1`. `eager_error` is what eager mode says of a program that it
    rejects, where the compiled one returns or the process dies: class and first line.
    """

    path: str
    statements: int
    lines: int
    operators: tuple[str, ...] = ()
    verified_cold: bool = False
    candidates: int = 0
    seconds: float = 0.0
    neighbours: tuple[NeighbourRow, ...] = ()
    compiler: Compiler = Compiler.COMPILE
    control: tuple[str, ...] | None = None
    eager_error: str | None = None


class TestSection(Section, frozen=True, kw_only=True):
    """The regression test: whether it fails here, and the releases on which it passes."""

    path: str
    fails_here: bool = False
    passes_on: tuple[str, ...] = ()


class ReleaseRow(Section, frozen=True, kw_only=True):
    """What the finished repro did on another release, which was built from the commit `git`."""

    torch: str
    outcome: CheckOutcome
    git: str | None = None


class ContrastSection(Section, frozen=True, kw_only=True):
    """Another interpreter in which the repro passes."""

    torch: str
    python: str
    outcome: Literal["passes"]

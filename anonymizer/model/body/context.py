"""What a block is written from: the program, who owns what, the call, and the names so far."""

from __future__ import annotations

from dataclasses import dataclass

from anonymizer.model.body.attributes import Attributes, ModelNames
from anonymizer.trace.ownership import Ownership
from anonymizer.trace.tree import ModuleCall, TracedProgram


@dataclass(frozen=True)
class BlockContext:
    """One call of a block in its program.

    `attributes` are those of the block, to which its body adds; `model` knows the names outside of
    the block.
    """

    program: TracedProgram
    ownership: Ownership
    call: ModuleCall
    attributes: Attributes
    model: ModelNames

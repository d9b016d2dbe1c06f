"""The order in which the edits of source reduction are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anonymizer.edits.absorb import absorb, single
from anonymizer.edits.expressions import earlier, elements, literals, simplify
from anonymizer.edits.inline import fold, inline, promote, propagate
from anonymizer.edits.signatures import fields, function_arguments, only_items, parameters
from anonymizer.edits.sizes import blocks, constants, dimensions, layouts
from anonymizer.edits.statements import definitions, discard, statements, unwrap
from anonymizer.source.program import SourceProgram

Edit = Callable[[SourceProgram], Iterator[SourceProgram]]

PASSES: tuple[Edit, ...] = (
    promote,
    definitions,
    statements,
    discard,
    unwrap,
    blocks,
    single,
    absorb,
    simplify,
    elements,
    fields,
    inline,
    propagate,
    fold,
    parameters,
    only_items,
    function_arguments,
    layouts,
    dimensions,
    constants,
    earlier,
    literals,
)

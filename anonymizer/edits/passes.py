"""The order in which the edits of source reduction are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anonymizer.edits.absorb import absorb, single
from anonymizer.edits.expressions import earlier, elements, literals, own_calls, simplify
from anonymizer.edits.inline import fold, fold_class_attributes, inline, promote, propagate
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
    own_calls,
    elements,
    fields,
    inline,
    propagate,
    fold,
    fold_class_attributes,
    parameters,
    only_items,
    function_arguments,
    layouts,
    dimensions,
    constants,
    earlier,
    literals,
)

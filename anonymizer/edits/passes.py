"""The order in which the edits of source reduction are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anonymizer.edits.absorption import absorb, replace_single_lists
from anonymizer.edits.attributes import (
    free_attributes,
    merge_objects,
    pass_containers,
    pass_held_values,
)
from anonymizer.edits.callables import (
    call_directly,
    drop_lambdas,
    free_bound_methods,
    free_modules,
    skip_entry,
)
from anonymizer.edits.entry import (
    forget_evaluation,
    free_class_attributes,
    free_entry,
    pass_outputs,
    pass_tensors,
)
from anonymizer.edits.expressions import (
    drop_elements,
    insert_numbers,
    replace_own_calls,
    reuse_earlier_values,
    simplify,
    unpack_arguments,
)
from anonymizer.edits.inlining import (
    fold,
    fold_class_attributes,
    free_methods,
    inline,
    iterate_values,
    promote,
    propagate,
    split_assignments,
    unroll,
    write_out,
)
from anonymizer.edits.objects import open_objects, read_new_objects
from anonymizer.edits.signatures import (
    drop_fields,
    drop_function_arguments,
    drop_parameters,
    drop_unread_parameters,
    pass_only_items,
    write_given_constants,
)
from anonymizer.edits.sizes import (
    drop_layouts,
    drop_padding,
    shorten_ranges,
    shrink_dimensions,
    simplify_constants,
)
from anonymizer.edits.statements import discard, drop_definitions, drop_statements, unwrap
from anonymizer.source.program import SourceProgram

Edit = Callable[[SourceProgram], Iterator[SourceProgram]]

PASSES: tuple[Edit, ...] = (
    promote,
    drop_definitions,
    drop_statements,
    discard,
    unwrap,
    shorten_ranges,
    replace_single_lists,
    call_directly,
    merge_objects,
    free_attributes,
    absorb,
    pass_outputs,
    pass_tensors,
    free_class_attributes,
    free_entry,
    pass_containers,
    pass_held_values,
    forget_evaluation,
    open_objects,
    read_new_objects,
    simplify,
    unpack_arguments,
    replace_own_calls,
    drop_elements,
    drop_fields,
    write_given_constants,
    free_methods,
    free_bound_methods,
    free_modules,
    inline,
    drop_lambdas,
    iterate_values,
    unroll,
    split_assignments,
    propagate,
    skip_entry,
    write_out,
    fold,
    fold_class_attributes,
    drop_parameters,
    drop_unread_parameters,
    pass_only_items,
    drop_function_arguments,
    drop_layouts,
    drop_padding,
    shrink_dimensions,
    simplify_constants,
    reuse_earlier_values,
    insert_numbers,
)

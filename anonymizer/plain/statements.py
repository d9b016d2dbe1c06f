"""A program and its inputs taken apart into the statements of a flat script."""

from __future__ import annotations

import ast
from dataclasses import replace

from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.kinds import EXPORTERS
from anonymizer.plain.callee import choose_callee, list_parameters, unwrap_module
from anonymizer.plain.calling_script import read_calling_script
from anonymizer.plain.function import tidy_functions
from anonymizer.plain.inputs import loop_over_arguments, nest_arguments, read_inputs
from anonymizer.plain.renaming import rename_program
from anonymizer.plain.script.parts import Callee, Script, SizeLoop


def read_script(body: ReproBody, assertion: ReproAssertion, keeps_names: bool = False) -> Script:
    """The statements of a program in the order in which they run.

    Args:
        keeps_names: the definitions stay word for word, for a program whose names are translated
            back to private ones.

    Raises:
        ValueError: the inputs are not made by assignments that end in one `return`.
    """
    if body.convention.is_script:
        return read_calling_script(body, assertion, keeps_names)
    tree, called = ast.parse(body.definitions), ast.parse(body.callable, mode="eval")
    if not keeps_names:
        rename_program(tree, [assertion.prelude, *body.inputs], called)
    made = called.body
    is_module = body.convention.is_module
    if not keeps_names:
        if assertion.compiler not in EXPORTERS:  # torch.export wants a module
            made, tree, is_module = unwrap_module(made, tree, body.convention.is_module)
        tidy_functions(tree)
    convention = replace(body.convention, is_module=is_module)
    body = replace(body, convention=convention, callable=ast.unparse(made))
    callee, setup, tree = choose_callee(made, tree, body, assertion)
    parameters = list_parameters(tree, body)
    constants = {} if assertion.calls else dict(body.sizes)
    statements, arguments = read_inputs(body, parameters, constants)
    # where arguments are observed, the same tensors are in both of two containers
    if not body.convention.observes_arguments:
        statements, arguments = nest_arguments(statements, arguments)
    rows = tuple(tuple(size for _, size in call) for call in assertion.calls)
    sizes = [name for name, _ in body.sizes] if assertion.calls else []
    sizes, arguments = loop_over_arguments(sizes, statements, arguments)
    return Script(
        definitions=ast.unparse(ast.fix_missing_locations(tree)),
        called=Callee(callee, setup, is_module),
        statements=tuple(statements),
        arguments=tuple(arguments),
        imports=body.imports,
        loop=SizeLoop(tuple(sizes), rows),
    )

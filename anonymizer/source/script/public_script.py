"""A script as a public program, statement by statement: hooks, settings and earlier calls that
the failing call needs, and that what it reaches does not show.

The last resort of a search. Names, texts and numbers are replaced as in any other source; what no
public word stands for ends the rewriting.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence
from dataclasses import replace

from anonymizer.graph.program_factory import wrap_script
from anonymizer.graph.repro import PROGRAM_FACTORY
from anonymizer.source.program import PrivateCounterparts, SourceProgram
from anonymizer.source.script.command_line import NOTHING_GIVEN, CommandLine
from anonymizer.source.script.compilation import RESULT, Compilation, take_call
from anonymizer.source.script.decorators import write_decorators_out
from anonymizer.source.script.imported_names import ImportedNames
from anonymizer.source.script.processes import Group, become_one_process
from anonymizer.source.script.renaming import PUBLIC, Renaming, list_words
from anonymizer.source.script.steps import (
    DictWriter,
    Frames,
    PairSplitter,
    drop_idle_modules,
    list_steps,
    strip,
)
from anonymizer.source.script.syntax_allow_list import refuse_private
from anonymizer.source.symbols.names import PublicNames


def rebuild_script(
    text: str,
    frames: Frames,
    vocabulary: Collection[str],
    group: Group = Group.ALONE,
    command_line: CommandLine = NOTHING_GIVEN,
) -> SourceProgram:
    """The public program of a script up to its failing call.

    Args:
        text: the script.
        frames: where the failing call was made.
        vocabulary: the attribute names that exist on torch's objects.
        group: the process group that a script of several processes has then.
        command_line: what the script was started with.

    Raises:
        SourceError: the call is not made by a statement that can be found, or the script has
            something without a public form.
    """
    tree = ast.parse(text)
    paths = ImportedNames(tree.body).paths
    frames = become_one_process(tree, paths, frames, group)
    frames = write_decorators_out(tree, frames, paths)
    tree = DictWriter().visit(command_line.write_values(tree))
    steps, last, inner = list_steps(PairSplitter(tree).visit(tree), frames)
    *steps, last = command_line.define([*steps, last])
    imports = ImportedNames([*steps, last])
    steps = [each for step in steps for each in strip(imports.rewrite(step))]
    last = imports.visit(last)
    compilation = Compilation()
    parsed = drop_idle_modules(steps, last)
    steps = [each for step in parsed for each in compilation.rewrite(step)]
    *made, last = compilation.rewrite(last)
    line = frames[-1][1] if inner is None else last.lineno
    call, arguments = take_call(last, line, inner or compilation)
    own = [*steps, *made, call]
    module = ast.Module([*_forget_variables(own), *own], [])
    names = PublicNames(vocabulary, list_words(module))
    renaming = Renaming(module, names, compilation.compiled)
    module = renaming.visit(module)
    refuse_private(module, names, set(renaming.bound.values()))
    public = [renaming.bound.get(name, name) for name in arguments]
    given = "".join(f"{name}, " for name in public)
    return SourceProgram(
        ast.fix_missing_locations(module),
        f"({PUBLIC[RESULT]}, ({given.strip()}))",
        ast.Module([ast.Return(ast.Tuple([], ast.Load()))], []),
        private=PrivateCounterparts(names.build_mapping(), names.reverse()),
        is_script=True,
    )


def _forget_variables(steps: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Takes variables that a script sets out of the environment, where each of its runs begins: an
    earlier one has left them there.
    """
    names = {
        ast.unparse(node.slice)
        for step in steps
        for node in ast.walk(step)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.slice, ast.Constant)
        and ast.unparse(node.value) == "os.environ"
    }
    text = "\n".join(f"os.environ.pop({name}, None)" for name in sorted(names))
    return ast.parse(text).body


def wrap(program: SourceProgram) -> SourceProgram:
    """The program as it is written: a script in a function that is given what compiles, so that
    each run has objects of its own.
    """
    if not program.is_script:
        return program
    statements = copy.deepcopy(program.definitions.body)
    factory = wrap_script(statements, program.callable_expression, program.has_globals)
    return replace(
        program, definitions=ast.Module([factory], []), callable_expression=PROGRAM_FACTORY
    )

"""The complete text of a repro in a plain form.

A crash needs the call alone, wrong values one `torch.testing.assert_close`, wrong metadata an
assertion on the one property. A file in a plain form fails while the bug is there and passes with
`TORCHDYNAMO_DISABLE=1`; `reporter.core.signature` reads its assertions back.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from anonymizer.graph.compilation import (
    drop_reloading,
    write_compilation,
    write_export,
    write_saving,
)
from anonymizer.graph.imports import is_used, list_imports
from anonymizer.graph.randomness import is_seed, write_seed
from anonymizer.graph.repro import (
    PROGRAM_FACTORY,
    REFUSED,
    ReproAssertion,
    ReproBody,
    indent,
)
from anonymizer.kinds import EXPORTERS, WRONG_VALUES, Compiler, Differentiation, Kind
from anonymizer.plain.comparison.call import PlainCall, write_close
from anonymizer.plain.comparison.eager import check_eager, find_returned_expression
from anonymizer.plain.comparison.gradients import compare_gradients, compare_tangents
from anonymizer.plain.comparison.metadata import compare_metadata
from anonymizer.plain.comparison.values import compare_last_calls, compare_values
from anonymizer.plain.effects import render_effect
from anonymizer.plain.input_placement import place_inputs
from anonymizer.plain.names import shorten_names
from anonymizer.plain.script.forms import PlainForm
from anonymizer.plain.script.parts import Script
from anonymizer.plain.statements import read_script
from anonymizer.plain.whole_script import render_whole_script
from collectors.protocol.repro_words import CACHED

#: Forms that copy or convert what they call with, which they are not told of arguments by name.
_CONVERTING = PlainForm.APART | PlainForm.MUTATED | PlainForm.EXACT


def render_plain(
    body: ReproBody, assertion: ReproAssertion, form: PlainForm, keeps_names: bool = False
) -> str:
    """The complete text of a repro in a plain form; valid Python that black has not seen.

    Args:
        keeps_names: the names of the program stay, since they are translated back.

    Raises:
        ValueError: the form does not fit the program.
    """
    body = body.with_seed(assertion.seed)
    if not keeps_names:
        body = shorten_names(body, assertion)
    if PlainForm.WHOLE in form:
        reseeds = PlainForm.RESEED in form
        return render_whole_script(
            body, assertion, write_close(form, "{}", "{}"), reseeds, keeps_names
        )
    if body.convention.state_calls:
        return render_effect(body, assertion, keeps_names, PlainForm.COUNTED in form)
    example = ""
    if assertion.calls and assertion.compiler in EXPORTERS:
        example = _write_example(body, assertion, keeps_names)
        if any(assertion.calls):
            body = replace(body, sizes=assertion.calls[-1])
            assertion = replace(assertion, calls=())
        elif assertion.compiler != Compiler.AOTI:
            raise ValueError("the exported program may write to the buffers of the module itself")
    call = PlainCall(read_script(body, assertion, keeps_names), assertion, form)
    return _write(call, example)


def _write_example(body: ReproBody, assertion: ReproAssertion, keeps_names: bool) -> str:
    """The arguments of the first call, for which a program is exported that is called with others,
    as the text of a tuple.

    Raises:
        ValueError: they need statements of their own.
    """
    first = replace(body, sizes=assertion.calls[0])
    script = read_script(first, replace(assertion, calls=()), keeps_names)
    made = [text for _, text in script.arguments]
    if not all(made) or not all(map(is_seed, script.statements)):
        raise ValueError("the arguments of the first call are no expressions")
    return f"({', '.join(made)}{',' if len(made) == 1 else ''})"


def _write(call: PlainCall, example: str) -> str:
    """Imports, settings, definitions, seed, module, inputs, call, comparison.

    Args:
        example: what the program is exported for, where that is not what it is called with.
    """
    script, assertion = call.script, call.assertion
    if script.keywords and call.form & _CONVERTING:
        raise ValueError("arguments by name are handed on as they are")
    is_called = assertion.compiler == Compiler.EAGER and assertion.backward == Differentiation.NONE
    alone = find_returned_expression(script) if is_called else ""
    if alone:  # an expression needs no function of its own
        script = replace(script, definitions="")
    prelude_imports, prelude = assertion.split_prelude()
    if PlainForm.SAVED in call.form:
        prelude = drop_reloading(prelude)
    end = _write_end(call, example, alone)
    unset = _list_unset_globals(script.definitions)
    known_globals = [f"{' = '.join(unset)} = None"] if unset else []
    defined = filter(None, (prelude, *known_globals, script.definitions))
    parts = [*assertion.write_config(), *defined]
    is_seeded = any(map(is_seed, script.statements))
    draws = script.draws_weights or script.draws_inputs and not is_seeded
    if draws and PlainForm.UNSEEDED not in call.form:
        end = [write_seed(assertion.seed), *end]
    text = "\n".join([*parts, *end])
    known = [one for one in (*script.imports, *prelude_imports) if is_used(one, text)]
    imports = list_imports(text, (*known, *assertion.write_config_imports()))
    return "\n".join([*imports, "", *parts, "", *end, ""])


def _write_end(call: PlainCall, example: str, alone: str) -> list[str]:
    """Everything after the definitions."""
    script, assertion = call.script, call.assertion
    setup = [script.called.setup] if script.called.setup else []
    if call.form & (PlainForm.EXPORTED | PlainForm.SAVED):
        write = write_saving if PlainForm.SAVED in call.form else write_export
        return [*setup, *_add_inputs(call, [write(assertion, call.eager, call.listed)])]
    if assertion.compiler == Compiler.EAGER:
        return [*setup, *_add_inputs(call, check_eager(call, alone))]
    compiled = script.called.compiled or write_compilation(
        assertion, call.eager, example or call.listed
    )
    if example:
        setup, compiled = [*setup, f"exported = {compiled}"], "exported"
    if not assertion.calls:
        return [*setup, *_add_inputs(call, _compare(call, compiled))]
    if assertion.keeps_arguments:
        return [*setup, *_add_inputs(call, compare_last_calls(call, compiled))]
    # each side has one for all its calls
    if call.eager == f"{PROGRAM_FACTORY}()":
        setup.append(f"eager = {call.eager}")
        called = replace(script.called, expression="eager")
        call = replace(call, script=replace(script, called=called))
    if not example:
        setup, compiled = [*setup, f"compiled = {compiled}"], "compiled"
    inner = _add_inputs(call, _compare(call, compiled))
    return [*setup, f"for {_write_loop(script, len(assertion.calls))}:", *indent(inner)]


def _write_loop(script: Script, calls: int) -> str:
    """What a `for` statement over successive calls goes through: `n in (3, 4)`."""
    if not script.loop.names:
        return f"_ in range({calls})"
    rows = [str(row[0]) if len(row) == 1 else str(row) for row in script.loop.rows]
    return f"{', '.join(script.loop.names)} in ({', '.join(rows)}{',' if len(rows) == 1 else ''})"


def _add_inputs(call: PlainCall, lines: list[str]) -> list[str]:
    """The inputs and the lines that use them, in the contexts of the call."""
    made, written = place_inputs(call.script, lines, PlainForm.UNSEEDED not in call.form)
    inside = written if PlainForm.OUTSIDE in call.form else call.put_inside(written)
    return [*call.script.statements, *made, *inside]


def _compare(call: PlainCall, compiled: str) -> list[str]:
    """The call of the compiled callee, with the comparison that the assertion asks for."""
    assertion, form = call.assertion, call.form
    eager = call.write_apart(call.eager) if PlainForm.APART in form else call.write(call.eager)
    actual = call.write(compiled) + ("[0]" if PlainForm.FIRST in form else "")
    if CACHED in assertion.config and assertion.backward == Differentiation.SUM:  # as training does
        close, backward = call.write_close("out", eager), call.differentiate("out")
        return [f"out = {actual}", close, backward]
    if assertion.backward == Differentiation.TANGENTS:
        return compare_tangents(call, compiled)
    if assertion.kind == Kind.WRONG_GRADIENT:
        return compare_gradients(call, compiled, eager, actual)
    if assertion.kind in WRONG_VALUES:
        if assertion.backward != Differentiation.NONE:
            return compare_gradients(call, compiled, eager, actual)
        return compare_values(call, compiled, eager, actual)
    if assertion.kind == Kind.WRONG_METADATA:
        return compare_metadata(call, eager, actual)
    return _show_failure(call, actual)


def _show_failure(call: PlainCall, actual: str) -> list[str]:
    """The compiled call alone, which raises, ends the process or returns what eager refuses."""
    if PlainForm.OUTSIDE in call.form:
        backward = f"{call.sum_outputs('out')}.backward()"
        return [*call.put_inside([f"out = {actual}"]), backward]
    shown = [call.differentiate(actual)]
    if call.assertion.kind == Kind.ACCEPTS_INVALID:
        return [REFUSED, *indent(shown)]
    if call.assertion.eager_raises:
        return ["try:", *indent(shown), "except Exception:", "    pass"]
    return shown


def _list_unset_globals(definitions: str) -> list[str]:
    """The globals that only functions set. In the harness the eager run, which is the first, makes
    them; a plain text compiles first, and Dynamo finds none.
    """
    tree = ast.parse(definitions)
    names = [name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names]
    targets = [
        target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
    ]
    set_ones = {target.id for target in targets if isinstance(target, ast.Name)}
    return sorted(set(names) - set_ones)

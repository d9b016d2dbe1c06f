"""The complete text of a repro in a plain form.

A crash needs the call alone, wrong values one `torch.testing.assert_close`, wrong metadata an
assertion on the one property. A file in a plain form fails while the bug is there and passes with
`TORCHDYNAMO_DISABLE=1`; `reporter.core.signature` reads its assertions back.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from anonymizer.graph.compilation import write_compilation, write_export
from anonymizer.graph.imports import is_used, list_imports
from anonymizer.graph.randomness import draws_random_numbers, is_seed, write_seed
from anonymizer.graph.repro import (
    CACHED,
    DERIVATIVE_CHECKS,
    PROGRAM_FACTORY,
    REFUSED,
    TANGENTS,
    ReproAssertion,
    ReproBody,
    indent,
)
from anonymizer.kinds import EXPORTERS, WRONG_VALUES, Compiler, Kind, assert_never
from anonymizer.plain.creation_calls import CREATION_FUNCTIONS
from anonymizer.plain.effects import render_effect
from anonymizer.plain.forms import OF_EACH, PlainForm
from anonymizer.plain.names import shorten_names
from anonymizer.plain.script import Script
from anonymizer.plain.statements import read_script
from anonymizer.plain.whole_script import render_whole_script
from collectors.protocol.repro_words import FARTHER_THAN_EAGER, Property

#: Most characters of a line with arguments written where they are used.
_WIDTH = 76
#: Forms that copy or convert what they call with, which they are not told of arguments by name.
_CONVERTING = PlainForm.APART | PlainForm.MUTATED | PlainForm.EXACT
#: Operators that reduce a whole tensor to one number, if they are given nothing beside it.
_TO_NUMBER = frozenset("sum mean prod norm max min amax amin std var".split())
#: Layouts with gaps or overlaps, which `clone` does not keep and `copy.deepcopy` does
#: (`clone` in `aten/src/ATen/native/TensorFactories.cpp`, 2.13).
_LOOSE = re.compile(r"\.as_strided\(|\.expand\(|torch\.empty_strided\(")
#: What makes a tensor of whole numbers: a dtype, or nothing but whole numbers given.
_WHOLE = re.compile(
    r"torch\.(?:randint|u?int\d+|bool)\b|torch\.(?:arange|tensor)\([-\d,\s\[\]]+\)"
    r"|torch\.full\(\([\d, ]*\), -?\d+\)"
)
#: Properties that `torch.testing.assert_close` compares by itself, or by a flag. The strides of
#: dimensions of size 1 count for it, which the harness, that shows the failure too, leaves out.
_COMPARED = {
    **dict.fromkeys((Property.DTYPE, Property.SHAPE, Property.DEVICE), ""),
    Property.STRIDE: ", check_stride=True",
}


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
            body, assertion, _write_close(form, "{}", "{}"), reseeds, keeps_names
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
    return _Writer(read_script(body, assertion, keeps_names), assertion, form, example).write()


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


def _write_close(form: PlainForm, actual: str, expected: str, more: str = "") -> str:
    """The comparison of two values, or of two tuples of them; both may be in `actual`."""
    expected = f", {expected}" if expected else ""
    more += ", equal_nan=True" if PlainForm.EQUAL_NAN in form else ""
    more += ", check_dtype=False" if PlainForm.UNTYPED in form else ""
    return f"torch.testing.assert_close({actual}{expected}{more})"


class _Writer:
    """Writes one script; the methods stand in the order of the text."""

    def __init__(
        self, script: Script, assertion: ReproAssertion, form: PlainForm, example: str
    ) -> None:
        #: The program as one expression of its arguments, which needs no function of its own.
        is_called = assertion.compiler == Compiler.EAGER and assertion.backward == "none"
        self.alone = _find_returned_expression(script) if is_called else ""
        self.script = replace(script, definitions="") if self.alone else script
        self.assertion = assertion
        self.form = form
        self.names = [name for name, _ in script.arguments]
        #: The arguments as a tuple.
        self.listed = f"({', '.join(self.names)}{',' if len(self.names) == 1 else ''})"
        #: What it is exported for, where that is not what it is called with.
        self.example = example
        self.is_number = _returns_number(script)

    def write(self) -> str:
        """Imports, settings, definitions, seed, module, inputs, call, comparison."""
        script, assertion = self.script, self.assertion
        if script.keywords and self.form & _CONVERTING:
            raise ValueError("arguments by name are handed on as they are")
        prelude_imports, prelude = assertion.split_prelude()
        end = self._write_end()
        unset = _list_unset_globals(script.definitions)
        known_globals = [f"{' = '.join(unset)} = None"] if unset else []
        defined = filter(None, (prelude, *known_globals, script.definitions))
        parts = [*assertion.write_config(), *defined]
        is_seeded = any(map(is_seed, script.statements))
        draws = script.draws_weights or script.draws_inputs and not is_seeded
        if draws and PlainForm.UNSEEDED not in self.form:
            end = [write_seed(assertion.seed), *end]
        text = "\n".join([*parts, *end])
        known = [one for one in (*script.imports, *prelude_imports) if is_used(one, text)]
        imports = list_imports(text, (*known, *assertion.write_config_imports()))
        return "\n".join([*imports, "", *parts, "", *end, ""])

    def _write_end(self) -> list[str]:
        """Everything after the definitions."""
        script, assertion = self.script, self.assertion
        lines = [script.called.setup] if script.called.setup else []
        if PlainForm.EXPORTED in self.form:
            return self._add_inputs(
                lines, [write_export(assertion, script.called.expression, self.listed)]
            )
        if assertion.compiler == Compiler.EAGER:
            return self._add_inputs(lines, self._write_eager())
        compiled = script.called.compiled or write_compilation(
            assertion, script.called.expression, self.example or self.listed
        )
        if self.example:
            lines, compiled = [*lines, f"exported = {compiled}"], "exported"
        if not assertion.calls:
            return self._add_inputs(lines, self._write_comparison(compiled))
        if assertion.keeps_arguments:
            return [*lines, *self._call_again(compiled)]
        # each side has one for all its calls
        if script.called.expression == f"{PROGRAM_FACTORY}()":
            lines.append(f"eager = {script.called.expression}")
            self.script = replace(script, called=replace(script.called, expression="eager"))
        if not self.example:
            lines, compiled = [*lines, f"compiled = {compiled}"], "compiled"
        rows = [str(row[0]) if len(row) == 1 else str(row) for row in script.loop.rows]
        inner = self._add_inputs([], self._write_comparison(compiled))
        each = (
            f"{', '.join(script.loop.names)} in ({', '.join(rows)}{',' if len(rows) == 1 else ''})"
        )
        if not script.loop.names:
            each = f"_ in range({len(assertion.calls)})"
        return [*lines, f"for {each}:", *indent(inner)]

    def _call_again(self, compiled: str) -> list[str]:
        """Several calls of each side, on arguments of its own that keep what a call does to them;
        the last results are compared.
        """
        script, assertion = self.script, self.assertion
        if assertion.kind not in WRONG_VALUES or assertion.backward != "none":
            raise ValueError("only values are compared")
        return self._add_inputs(
            [],
            [
                "outs = []",
                f"for call in ({script.called.expression}, {compiled}):",
                f"    args = copy.deepcopy({self.listed})",
                f"    outs.append([call(*args) for _ in range({len(assertion.calls)})][-1])",
                self._write_close("*outs"),
            ],
        )

    def _write_eager(self) -> list[str]:
        """The program as it is; wrong values beside those that float64 gives, derivatives beside
        finite differences or each other.
        """
        if self.assertion.backward in DERIVATIVE_CHECKS:
            callee = self.script.called.expression
            checked = DERIVATIVE_CHECKS[self.assertion.backward]
            return [checked.format(callee, self.listed, self._write_call(callee))]
        call = self.alone or self._write_call(self.script.called.expression)
        if self.assertion.kind not in WRONG_VALUES:
            return [self._differentiate(call)]
        wide = [name for name in self.names if not self._is_whole(name)]
        if self.script.called.is_module or not wide:
            raise ValueError("float64 needs a program without weights")
        exact = re.sub(rf"\b({'|'.join(wide)})\b(?!\()", lambda found: self._widen(found[1]), call)
        lines = [f"actual = {call}", f"expected = {exact}.to(actual.dtype)"]
        return [*lines, self._write_close("actual", "expected")]

    def _add_inputs(self, lines: list[str], shown: list[str]) -> list[str]:
        """The inputs and what follows; what is used once stands where it is used, and what is
        random there alone where that keeps the order of the draws.
        """
        made, written = self._place_inputs(shown, frozenset())
        if PlainForm.UNSEEDED not in self.form and self._draws_before(made):
            drawn = [name for name, text in self.script.arguments if draws_random_numbers(text)]
            made, written = self._place_inputs(shown, frozenset(drawn))
        inside = written if PlainForm.OUTSIDE in self.form else self._put_inside(written)
        return [*lines, *self.script.statements, *made, *inside]

    def _place_inputs(self, shown: list[str], named: frozenset[str]) -> tuple[list[str], list[str]]:
        """The statements that make inputs, and the lines that use them. Those `named`, the long
        ones and those that are used twice have a statement.
        """
        made: list[str] = []
        is_loop = any(re.search(r"\bfor call in\b", line) for line in shown)
        for name, text in self.script.arguments:
            others = (other for known, other in self.script.arguments if known != name)
            uses = sum(len(re.findall(rf"\b{name}\b", line)) for line in (*shown, *others))
            line = next((one for one in shown if re.search(rf"\b{name}\b", one)), "")
            fits = len(line) - len(name) + len(text) <= _WIDTH
            if text and not is_loop and uses == 1 and fits and name not in named:
                at = shown.index(line)
                before, after = re.split(rf"\b{name}\b", line, maxsplit=1)
                shown = [*shown[:at], f"{before}{text}{after}", *shown[at + 1 :]]
            elif text and uses:
                made.append(f"{name} = {text}")
        return made, shown

    def _draws_before(self, made: list[str]) -> bool:
        """Whether the statements that make inputs draw what an input of the call drew before."""
        is_called = False
        for name, text in self.script.arguments:
            if not draws_random_numbers(text):
                continue
            if f"{name} = {text}" not in made:
                is_called = True
            elif is_called:
                return True
        return False

    def _put_inside(self, lines: list[str]) -> list[str]:
        """Lines in the contexts that the call runs in."""
        if not self.assertion.contexts:
            return lines
        return [f"with {', '.join(self.assertion.contexts)}:", *indent(lines)]

    # -- what is called and compared ---------------------------------------------------------------

    def _write_call(self, callee: str, apart: bool = False) -> str:
        given = ", ".join(self.names)
        if not apart:
            return f"{callee}({', '.join((*self.names, *self.script.keywords))})"
        model = f"copy.deepcopy({callee})" if self.script.called.is_module else callee
        if not self.names:
            return f"{model}()"
        if len(self.names) == 1 and not self.script.leaves:
            kept = not _LOOSE.search(self._find_expression(given))
            return f"{model}({given}.clone())" if kept else f"{model}(copy.deepcopy({given}))"
        if self._are_apart() and not self.script.called.is_module:
            return f"{model}({', '.join(f'{name}.clone()' for name in self.names)})"
        return f"{model}(*copy.deepcopy({self.listed}))"

    def _are_apart(self) -> bool:
        """Whether each input is a tensor of its own, no leaf of a graph of gradients, and of a
        layout that a clone keeps.
        """
        made = dict(self.script.arguments)
        functions = (*CREATION_FUNCTIONS, "torch.tensor")
        is_tensor = all(text.split("(")[0] in functions for text in made.values())
        return (
            is_tensor
            and not self.script.leaves
            and not any(_LOOSE.search(text) for text in made.values())
            and not any(re.search(rf"\b{name}\b", text) for name in made for text in made.values())
        )

    def _write_comparison(self, compiled: str) -> list[str]:
        kind, form = self.assertion.kind, self.form
        eager = self._write_call(self.script.called.expression, PlainForm.APART in form)
        actual = self._write_call(compiled)
        actual += "[0]" if PlainForm.FIRST in form else ""
        if CACHED in self.assertion.config and self.assertion.backward == "sum":  # as training does
            lines = [
                f"out = {actual}",
                self._write_close("out", eager),
                f"{self._write_sum('out')}.backward()",
            ]
            return lines
        if self.assertion.backward == TANGENTS:
            return self._compare_tangents(compiled)
        if kind in WRONG_VALUES and (
            kind == Kind.WRONG_GRADIENT or self.assertion.backward != "none"
        ):
            return self._compare_gradients(compiled, eager, actual)
        if kind in WRONG_VALUES:
            return self._compare_values(compiled, eager, actual)
        if kind == Kind.WRONG_METADATA:
            return self._compare_metadata(eager, actual)
        if PlainForm.OUTSIDE in form:
            return [*self._put_inside([f"out = {actual}"]), f"{self._write_sum('out')}.backward()"]
        shown = [self._differentiate(actual)]
        if kind == Kind.ACCEPTS_INVALID:
            return [REFUSED, *indent(shown)]
        if self.assertion.eager_raises:
            return ["try:", *indent(shown), "except Exception:", "    pass"]
        return shown

    def _differentiate(self, call: str) -> str:
        if self.assertion.backward == "none":
            return call
        return f"{self._write_sum(call)}.backward()"

    def _write_sum(self, call: str) -> str:
        """The outputs as one number."""
        if PlainForm.SEVERAL in self.form:
            return f"sum(out.sum() for out in {call} if out.requires_grad)"
        return call if self.is_number else f"{call}.sum()"

    def _write_close(self, actual: str, expected: str = "", more: str = "") -> str:
        return _write_close(self.form, actual, expected, more)

    def _compare_values(self, compiled: str, eager: str, actual: str) -> list[str]:
        form, names = self.form, self.names
        if PlainForm.MUTATED in form:
            return self._show_mutated(compiled)
        if PlainForm.EXACT in form:
            return self._write_exact(compiled)
        if PlainForm.RESEED in form:
            seed = self._write_own_seed()
            first = [seed, f"expected = {eager}", seed, f"actual = {actual}"]
            return [*first, self._write_close("actual", "expected")]
        if (
            PlainForm.APART in form and names
        ):  # the eager side is first, on copies: the compiled one may write
            return [f"expected = {eager}", self._write_close(actual, "expected")]
        return [self._write_close(actual, eager)]

    def _show_mutated(self, compiled: str) -> list[str]:
        """The inputs after the call, those of both sides."""
        callee, names = self.script.called.expression, self.names
        if len(names) == 1:
            copied = f"{names[0]}.clone()"
            if _LOOSE.search(self._find_expression(names[0])):
                copied = f"copy.deepcopy({names[0]})"
            return [
                f"expected, actual = {copied}, {copied}",
                f"{callee}(expected)",
                f"{compiled}(actual)",
                self._write_close("actual", "expected"),
            ]
        listed = f"({', '.join(names)})"
        copies = f"copy.deepcopy({listed})"
        if self._are_apart():
            copies = f"({', '.join(f'{name}.clone()' for name in names)})"
        return [
            f"expected, actual = {copies}, {listed}",
            f"{callee}(*expected)",
            f"{compiled}(*actual)",
            self._write_close("actual", "expected"),
        ]

    def _write_exact(self, compiled: str) -> list[str]:
        """How far both sides are from float64, where no tolerance tells them apart."""
        if self.script.called.is_module or not self.names:
            raise ValueError("float64 needs a program without weights")
        wide = [self._widen(name) for name in self.names]
        given, callee = ", ".join(self.names), self.script.called.expression
        return [
            f"exact = {callee}({', '.join(wide)})",
            "eager, off = [",
            f"    (call({given}) - exact).abs().max().item() for call in ({callee}, {compiled})",
            "]",
            f"assert off <= {FARTHER_THAN_EAGER:g} * eager, (",
            f'    f"{self.assertion.kind.replace("_", " ")}: eager is off by {{eager:.4g}}'
            ' from float64, compiled by {off:.4g}"',
            ")",
        ]

    def _widen(self, name: str) -> str:
        """An argument in double precision; whole numbers stay as they are."""
        if self._is_whole(name):
            return name
        is_complex = "torch.complex" in self._find_expression(name)
        return f"{name}.{'cdouble' if is_complex else 'double'}()"

    def _find_expression(self, name: str) -> str:
        """What makes an argument: its expression, or the statements that assign it."""
        made = [one for one in self.script.statements if one.startswith(f"{name} = ")]
        return "\n".join([dict(self.script.arguments)[name], *made])

    def _is_whole(self, name: str) -> bool:
        text = self._find_expression(name)
        return bool(_WHOLE.search(text)) and not re.search("float| / ", text)

    def _compare_gradients(self, compiled: str, eager: str, actual: str) -> list[str]:
        leaves, form = self.script.leaves, self.form
        # of an exported program the arguments' gradients are enough where there are some
        is_needed = not (leaves and self.assertion.compiler in EXPORTERS)
        has_own = self.script.called.is_module and is_needed and self.assertion.shares_parameters()
        if not leaves and not has_own:
            raise ValueError("no gradient is asked for")
        of_model = f"{self.script.called.expression}.parameters()" if has_own else ""
        if PlainForm.OUTSIDE in form:
            more = ", allow_unused=True" if PlainForm.UNUSED in form else ""
            given = f"{self._write_sum('out')}, {self._write_leaves(of_model)}{more}"
            asked = f"torch.autograd.grad({given})"
            return [
                *self._put_inside([f"outs = {eager}, {actual}"]),
                f"expected, actual = ({asked} for out in outs)",
                self._write_close("actual", "expected"),
            ]
        if PlainForm.IN_TURN in form or self.assertion.backward == "randn":
            return self._compare_in_turn(compiled, self._write_leaves(of_model))
        if len(leaves) == 1 and not of_model:
            (leaf,) = leaves
            close = self._write_close(f"{leaf}.grad", "expected")
            lines = [
                f"{self._write_sum(eager)}.backward()",
                f"expected, {leaf}.grad = {leaf}.grad, None",
                f"{self._write_sum(actual)}.backward()",
                close,
            ]
            seed = self._write_own_seed()
            return [seed, *lines[:2], seed, *lines[2:]] if PlainForm.RESEED in form else lines
        asked, more = self._write_leaves(of_model), self._write_materialize()
        grads = [
            f"{name} = torch.autograd.grad({self._write_sum(call)}, {asked}{more})"
            for name, call in (("expected", eager), ("actual", actual))
        ]
        if of_model:
            grads = [f"leaves = {asked}", *(line.replace(asked, "leaves") for line in grads)]
        if PlainForm.RESEED in form:
            grads = [line for one in grads for line in (self._write_own_seed(), one)]
        return [*grads, self._write_close("actual", "expected")]

    def _compare_tangents(self, compiled: str) -> list[str]:
        """The outputs of both sides with their tangents, or the compiled call where it is what
        fails; the inputs are moved all alike.
        """
        if PlainForm.PLAINEST != self.form:
            raise ValueError("the outputs are one tensor")
        forward_ad = "torch.autograd.forward_ad"
        duals = [
            f"{name} = {forward_ad}.make_dual({name}, torch.ones_like({name}))"
            for name in self.names
            if not self._is_whole(name)
        ]
        callee, call = self.script.called.expression, self._write_call("call")
        shown = [self._write_call(compiled)]
        if self.assertion.kind == Kind.WRONG_GRADIENT:
            shown = [
                f"outs = [{forward_ad}.unpack_dual({call}) for call in ({compiled}, {callee})]",
                self._write_close("*outs"),
            ]
        lines = [*duals, *shown]
        return [f"with {forward_ad}.dual_level():", *indent(lines)]

    def _write_own_seed(self) -> str:
        own, second, third = self.assertion.list_seeds()
        if PlainForm.SEED_1 in self.form:
            return write_seed(second)
        return write_seed(third if PlainForm.SEED_2 in self.form else own)

    def _write_materialize(self) -> str:
        """What gives zeros for a gradient that there is none of."""
        return ", materialize_grads=True" if PlainForm.UNUSED in self.form else ""

    def _write_leaves(self, of_model: str) -> str:
        listed = ", ".join(self.script.leaves)
        if of_model:
            return f"[{listed}, *{of_model}]" if listed else f"list({of_model})"
        return f"({listed})" if len(self.script.leaves) > 1 else listed

    def _compare_in_turn(self, compiled: str, leaves: str) -> list[str]:
        """Both sides in a loop, each with the same random gradients of its outputs."""
        call, more = self._write_call("call"), self._write_materialize()
        lines = ["grads = []", f"for call in ({self.script.called.expression}, {compiled}):"]
        if PlainForm.RESEED in self.form:
            lines.append(f"    {self._write_own_seed()}")
        if self.assertion.backward != "randn":
            lines.append(f"    out = {self._write_sum(call)}")
            lines.append(f"    grads.append(torch.autograd.grad(out, {leaves}, allow_unused=True))")
        elif PlainForm.SEVERAL in self.form:
            lines += [
                f"    outs = [out for out in {call} if out.requires_grad]",
                f"    {write_seed(self.assertion.list_seeds()[1])}",
                "    tangents = [torch.randn(out.shape).to(out) for out in outs]",
                f"    grads.append(torch.autograd.grad(outs, {leaves}, tangents{more}))",
            ]
        else:
            lines += [
                f"    out = {call}",
                f"    {write_seed(self.assertion.list_seeds()[1])}",
                f"    grads.append(torch.autograd.grad(out, {leaves}, torch.randn_like(out)))",
            ]
        return [*lines, "torch.testing.assert_close(*grads)"]

    def _compare_metadata(self, eager: str, actual: str) -> list[str]:
        name = self.assertion.property or Property.DTYPE
        if PlainForm.EACH in self.form:
            return self._write_each(name, eager, actual)
        if name in _COMPARED and PlainForm.ALONE not in self.form:
            return [self._write_close(actual, eager, _COMPARED[name])]
        match name:
            case Property.STRUCTURE:
                same = (
                    "type({}) is type({})" if PlainForm.ALONE in self.form else "len({}) == len({})"
                )
                return ["assert " + same.format(actual, eager)]
            case Property.TYPE:
                return [f"assert type({actual}) is type({eager})"]
            case Property.ALIAS:
                return self._compare_aliases(eager, actual)
            case Property.PYTHON_VALUE:
                access = ""
            case Property.STRIDE:
                access = ".stride()"
            case (
                Property.DTYPE
                | Property.SHAPE
                | Property.DEVICE
                | Property.REQUIRES_GRAD
                | Property.IS_LEAF
            ):
                access = f".{name}"
            case Property.SIDE_EFFECT:
                raise ValueError("there is no state to be read")
            case _:
                assert_never(name)
        values = [f"expected = {eager}{access}", f"actual = {actual}{access}"]
        return [*values, "assert actual == expected, (actual, expected)"]

    def _compare_aliases(self, eager: str, actual: str) -> list[str]:
        """Whether the output shares memory with what the program is given."""
        has_state = self.script.called.is_module and self.assertion.compiler not in EXPORTERS
        state = ["*model.parameters()", "*model.buffers()"] if has_state else []
        owners, address = [*state, *self.names], "{}.untyped_storage().data_ptr()"
        if not owners:
            raise ValueError("there is nothing to share memory with")
        compared, lines = f"== {address.format(owners[0])}", []
        if len(owners) > 1:
            each = f"{address.format('t')} for t in ({', '.join(owners)})"
            compared, lines = "in owners", [f"owners = [{each}]"]
        for name, call in (("expected", eager), ("actual", actual)):
            lines.append(f"{name} = {address.format(call)} {compared}")
        return [*lines, "assert actual == expected, (actual, expected)"]

    def _write_each(self, name: Property, eager: str, actual: str) -> list[str]:
        """The property of every output of a tuple."""
        sides = {"expected": eager, "actual": actual}
        lines = [f"{side} = {OF_EACH[name].format(call)}" for side, call in sides.items()]
        return [*lines, "assert actual == expected, (actual, expected)"]


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


def _find_returned_expression(script: Script) -> str:
    """What a function returns, if that is all that it does; else nothing."""
    tree = ast.parse(script.definitions).body
    function = tree[0] if len(tree) == 1 else None
    if not isinstance(function, ast.FunctionDef) or len(function.body) != 1:
        return ""
    returned = function.body[0]
    given = [name for name, _ in script.arguments]
    if not isinstance(returned, ast.Return) or returned.value is None:
        return ""
    return ast.unparse(returned.value) if [a.arg for a in function.args.args] == given else ""


def _returns_number(script: Script) -> bool:
    """Whether the program ends in a sum, or the like, over all elements."""
    tree: ast.AST = ast.parse(script.definitions)
    if script.called.is_module:  # `model = Model()`
        own = re.findall(r"\w+", script.called.setup)[1:2]
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        tree = next((node for node in classes if node.name in own), ast.Module([], []))
    for node in ast.walk(tree):
        name = "forward" if script.called.is_module else script.called.expression
        if isinstance(node, ast.FunctionDef) and node.name == name:
            last = node.body[-1]
            return isinstance(last, ast.Return) and _is_number(last.value)
    return False


def _is_number(value: ast.expr | None) -> bool:
    """Whether an expression is certainly a tensor of no dimensions: `x.sum()`, `torch.mean(x)`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    of_torch = ast.unparse(value.func.value) == "torch"
    return value.func.attr in _TO_NUMBER and len(value.args) == of_torch and not value.keywords

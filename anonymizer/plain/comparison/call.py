"""The call that a plain repro makes, and what the comparisons of it are written with: the callee
with its arguments, copies and wider ones of these, the outputs as one number, and seeds.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from anonymizer.graph.randomness import write_seed
from anonymizer.graph.repro import ReproAssertion, indent
from anonymizer.kinds import Differentiation
from anonymizer.plain.script.creation_calls import CREATION_FUNCTIONS
from anonymizer.plain.script.forms import PlainForm
from anonymizer.plain.script.parts import Script

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


@dataclass(frozen=True)
class PlainCall:
    """A script whose call is compared, with what is asserted of it and the form of the text."""

    script: Script
    assertion: ReproAssertion
    form: PlainForm

    @property
    def eager(self) -> str:
        """What is called in eager mode, as an expression."""
        return self.script.called.expression

    @property
    def names(self) -> list[str]:
        """The names of the arguments, in the order of the call."""
        return [name for name, _ in self.script.arguments]

    @property
    def listed(self) -> str:
        """The arguments as a tuple."""
        return f"({', '.join(self.names)}{',' if len(self.names) == 1 else ''})"

    def write(self, callee: str) -> str:
        """The call of a callee with the arguments as they are."""
        return f"{callee}({', '.join((*self.names, *self.script.keywords))})"

    def write_apart(self, callee: str) -> str:
        """The call of a copy of a callee with copies of the arguments."""
        model = f"copy.deepcopy({callee})" if self.script.called.is_module else callee
        if not self.names:
            return f"{model}()"
        if len(self.names) == 1 and not self.script.leaves:
            return f"{model}({self.copy_argument(self.names[0])})"
        if self.are_apart() and not self.script.called.is_module:
            return f"{model}({self.clone_arguments()})"
        return f"{model}(*copy.deepcopy({self.listed}))"

    def put_inside(self, lines: list[str]) -> list[str]:
        """Lines in the contexts that the call runs in."""
        if not self.assertion.contexts:
            return lines
        return [f"with {', '.join(self.assertion.contexts)}:", *indent(lines)]

    # -- its arguments -----------------------------------------------------------------------------

    def copy_argument(self, name: str) -> str:
        """A copy of an argument that is no leaf of a graph of gradients."""
        is_loose = _LOOSE.search(self.find_expression(name))
        return f"copy.deepcopy({name})" if is_loose else f"{name}.clone()"

    def clone_arguments(self) -> str:
        """A clone of each argument, for those that `are_apart`."""
        return ", ".join(f"{name}.clone()" for name in self.names)

    def are_apart(self) -> bool:
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

    def widen(self, name: str) -> str:
        """An argument in double precision; whole numbers stay as they are."""
        if self.is_whole(name):
            return name
        is_complex = "torch.complex" in self.find_expression(name)
        return f"{name}.{'cdouble' if is_complex else 'double'}()"

    def is_whole(self, name: str) -> bool:
        """Whether an argument is a tensor of whole numbers."""
        text = self.find_expression(name)
        return bool(_WHOLE.search(text)) and not re.search("float| / ", text)

    def find_expression(self, name: str) -> str:
        """What makes an argument: its expression, or the statements that assign it."""
        made = [one for one in self.script.statements if one.startswith(f"{name} = ")]
        return "\n".join([dict(self.script.arguments)[name], *made])

    # -- its outputs and random numbers ------------------------------------------------------------

    def sum_outputs(self, call: str) -> str:
        """The outputs of a call as one number."""
        if PlainForm.SEVERAL in self.form:
            return f"sum(out.sum() for out in {call} if out.requires_grad)"
        return call if _returns_number(self.script) else f"{call}.sum()"

    def differentiate(self, call: str) -> str:
        """A call with the backward pass behind it, if gradients are asked for."""
        if self.assertion.backward == Differentiation.NONE:
            return call
        return f"{self.sum_outputs(call)}.backward()"

    def write_close(self, actual: str, expected: str = "", more: str = "") -> str:
        """The comparison of two values; both may be in `actual`."""
        return write_close(self.form, actual, expected, more)

    def write_own_seed(self) -> str:
        """The statement that sets the seed of the form."""
        own, second, third = self.assertion.list_seeds()
        if PlainForm.SEED_1 in self.form:
            return write_seed(second)
        return write_seed(third if PlainForm.SEED_2 in self.form else own)


def write_close(form: PlainForm, actual: str, expected: str, more: str = "") -> str:
    """The comparison of two values, or of two tuples of them; both may be in `actual`."""
    expected = f", {expected}" if expected else ""
    more += ", equal_nan=True" if PlainForm.EQUAL_NAN in form else ""
    more += ", check_dtype=False" if PlainForm.UNTYPED in form else ""
    return f"torch.testing.assert_close({actual}{expected}{more})"


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

"""A repro as data: the program with its inputs, and what is asserted of it under which settings.

Two texts are written from it: the harness of the search (`anonymizer.harness`) and the plain form
that is filed (`anonymizer.plain`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from anonymizer.graph.randomness import write_seed
from anonymizer.kinds import EXPORTERS, SILENT, Compiler, Differentiation, Kind
from collectors.protocol.repro_words import Property

#: The function that makes a callable anew, with the state that it has.
PROGRAM_FACTORY = "program"
#: A statement that changes a switch of torch for the whole process.
_SETTING = re.compile(r"torch\.(?:set|use)_\w+\(.*\)$")
#: The method that asks for the gradient of a tensor that is no leaf.
KEEP_GRADIENT = "retain_grad"
#: The parameter by which a whole script is given what compiles.
COMPILE = "compile"
#: How a derivative in eager mode is held against finite differences, or those of equal elements
#: against each other, as an expression of a callable, a tuple of its arguments and the call with
#: them, by the `backward` of an assertion.
DERIVATIVE_CHECKS: Mapping[Differentiation, str] = {
    Differentiation.GRADCHECK: "torch.autograd.gradcheck({}, {})",
    Differentiation.GRADGRADCHECK: "torch.autograd.gradgradcheck({}, {})",
    Differentiation.FORWARD: (
        "torch.autograd.gradcheck({}, {}, check_forward_ad=True, check_backward_ad=False)"
    ),
    Differentiation.OVER_FORWARD: (
        "torch.autograd.gradcheck("
        "lambda *xs: torch.func.jvp({}, xs, tuple(each.sin() for each in xs))[1], {})"
    ),
    Differentiation.OVER_BACKWARD: (
        "torch.autograd.gradcheck("
        "torch.func.grad(lambda *xs: {}(*xs).square().sum()), {}, check_forward_ad=True)"
    ),
    Differentiation.FORWARD_TWICE: (
        "torch.testing.assert_close(*(outer(torch.func.jacfwd(lambda xs: {}(*xs)))({})"
        " for outer in (torch.func.jacfwd, torch.func.jacrev)))"
    ),
    Differentiation.IN_INFERENCE: (
        "torch.testing.assert_close(*(torch.inference_mode(mode)(torch.func.jvp)({0}, {1}, {1})[1]"
        " for mode in (True, False)))"
    ),
    Differentiation.ELEMENTWISE: (
        "torch.testing.assert_close(*torch.autograd.grad({2}.sum(), {1})[0].aminmax())"
    ),
}
#: How a plain repro takes it that the compiled call refuses what eager refuses.
REFUSED = "with unittest.TestCase().assertRaises(Exception):"
#: What may differ from call to call: the parameters of `inputs()`, with their values in one call.
CallSizes = tuple[tuple[str, float], ...]


def indent(lines: Iterable[str]) -> list[str]:
    """Lines one level deeper."""
    return ["    " + line for line in lines]


@dataclass(frozen=True)
class ReproAssertion:
    """What a repro asserts in the end, and under which settings.

    `arguments` are the torch.compile keyword arguments as text, `config` assignments (`name`, value
    as text), `contexts` the expressions of `with` statements around the call, `backward` how
    gradients are asked for, `calls` the sizes of successive calls where one compiled object is
    called several times; with `keeps_arguments` all of them get the same objects. `compiler` is
    what makes the callable, with the `steps` that an exported program goes through before it is
    called; `arguments` are then those of torch.export.export. Random numbers are those of the
    `seed`.
    With `names_output` the message about a wrong output says which one it is; with `by_size` values
    are compared by their size, as they are too small for an absolute tolerance.
    """

    kind: Kind
    arguments: tuple[tuple[str, str], ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    contexts: tuple[str, ...] = ()
    backward: Differentiation = Differentiation.NONE
    property: Property | None = None
    double: bool = True
    compare_inputs: bool = False
    eager_raises: bool = False
    evaluation: bool = False
    calls: tuple[CallSizes, ...] = ()
    keeps_arguments: bool = False
    prelude: str = ""
    compiler: Compiler = Compiler.COMPILE
    steps: tuple[str, ...] = ()
    seed: int = 0
    names_output: bool = False
    by_size: bool = False

    def read_backend(self) -> str | None:
        """The backend of torch.compile: its name, the expression of one of the program's own, or
        None for the default.
        """
        return self._read_argument("backend")

    def read_mode(self) -> str | None:
        """The mode of torch.compile; None for the default."""
        return self._read_argument("mode")

    def read_dynamic(self) -> bool | None:
        """What torch.compile is told of dynamic sizes; None for the default."""
        return {"True": True, "False": False}.get(self._read_argument("dynamic") or "")

    def _read_argument(self, name: str) -> str | None:
        """An argument as text; of a string its value."""
        written = dict(self.arguments).get(name)
        return written.strip("'\"") if written is not None else None

    def list_seeds(self) -> tuple[int, int, int]:
        """Its seed, and those of tangents and of further draws: all that a repro may set."""
        return self.seed, self.seed + 1, self.seed + 2

    def compares_sides(self) -> bool:
        """Whether a compiled run is held against one in eager mode."""
        is_compared = self.kind in SILENT and not self.eager_raises
        return is_compared and self.compiler != Compiler.EAGER

    def shares_parameters(self) -> bool:
        """Whether what is called has the parameters of the module itself: an exported program does
        (`torch/export/_unlift.py`), while what is loaded, unflattened or packaged has copies.
        """
        if self.compiler not in EXPORTERS:
            return True
        return self.compiler == Compiler.EXPORT and not {"save", "reload", "unflatten"} & set(
            self.steps
        )

    def without_argument(self, name: str) -> ReproAssertion:
        """The assertion with one torch.compile argument left at its default."""
        return replace(self, arguments=tuple(item for item in self.arguments if item[0] != name))

    def write_arguments(self) -> str:
        """The `arguments` as text behind another argument: `, dynamic=True`."""
        return "".join(f", {name}={value}" for name, value in self.arguments)

    def write_config(self) -> list[str]:
        """The statements that set `config`."""
        return [f"{name} = {value}" for name, value in self.config]

    def write_config_imports(self) -> set[str]:
        """The import statements that those of `write_config` need."""
        return {f"import {name.rsplit('.config.', 1)[0]}.config" for name, _ in self.config}

    def list_settings(self) -> list[str]:
        """The lines of the prelude that change a switch of torch."""
        return [line for line in self.prelude.splitlines() if _SETTING.match(line)]

    def without_setting(self, setting: str) -> ReproAssertion:
        """The same without one line of `list_settings`."""
        lines = self.prelude.splitlines()
        lines.remove(setting)
        return replace(self, prelude="\n".join(lines).strip("\n"))

    def split_prelude(self) -> tuple[list[str], str]:
        """The prelude, which was written to stand alone, for a text that has imports of its own.

        Returns:
            Its import statements, a line each, and the rest.
        """
        lines = self.prelude.splitlines()
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        return imports, "\n".join(line for line in lines if line not in imports).strip("\n")

    def wrap_in_contexts(self, lines: list[str]) -> list[str]:
        """Lines in the contexts of the call, a `with` statement for each."""
        for context in reversed(self.contexts):
            lines = [f"with {context}:", *indent(lines)]
        return lines


@dataclass(frozen=True)
class CallingConvention:
    """What the callable's expression gives, how it is called and what is read of the outcome.

    With `state_calls` the expression gives the callable and a function that reads Python's state,
    which is compared after so many calls; if it `observes_arguments`, the state of the arguments
    that are no tensors is compared, and the expression gives the callable alone. With `nested` the
    outputs may lie in containers of any sort. A script calls what it compiles itself: its callable
    is given what compiles, and returns the result with the arguments.
    """

    is_module: bool = False
    is_script: bool = False
    state_calls: int = 0
    observes_arguments: bool = False
    nested: bool = False


#: A function of tensors, and a module, whose outputs are tensors and nothing else is compared.
FUNCTION_CALL, MODULE_CALL = CallingConvention(), CallingConvention(is_module=True)


@dataclass(frozen=True)
class ReproBody:
    """The program: definitions, the callable's expression, the lines of `inputs` and its sizes.

    The seed that `inputs` set is 0 until the text is written (`with_seed`): no edit takes it for a
    number of the program.
    """

    definitions: str
    callable: str
    inputs: tuple[str, ...]
    convention: CallingConvention = FUNCTION_CALL
    sizes: CallSizes = ()
    imports: tuple[str, ...] = ()

    def parse_inputs(self) -> ast.FunctionDef:
        """The function `inputs`, without its parameters, as a syntax tree."""
        function = ast.parse("\n".join(["def inputs():", *indent(self.inputs)])).body[0]
        assert isinstance(function, ast.FunctionDef)
        return function

    def _with_inputs(self, statements: Iterable[ast.stmt]) -> ReproBody:
        """The program with another body of `inputs`."""
        texts = (ast.unparse(ast.fix_missing_locations(statement)) for statement in statements)
        return replace(self, inputs=tuple(line for text in texts for line in text.splitlines()))

    def parse_creations(self) -> ast.FunctionDef:
        """The function that makes the tensors, as a syntax tree: `inputs`, or a script's own."""
        if not self.convention.is_script:
            return self.parse_inputs()
        function = ast.parse(self.definitions).body[-1]
        assert isinstance(function, ast.FunctionDef)
        return function

    def with_creations(self, function: ast.FunctionDef) -> ReproBody:
        """The program with another function that makes the tensors."""
        if not self.convention.is_script:
            return self._with_inputs(function.body)
        tree = ast.parse(self.definitions)
        tree.body[-1] = ast.fix_missing_locations(function)
        return replace(self, definitions=ast.unparse(tree))

    def with_seed(self, seed: int) -> ReproBody:
        """The program with inputs that start from the seed of an assertion."""
        own, other = write_seed(0), write_seed(seed)
        return replace(self, inputs=tuple(other if line == own else line for line in self.inputs))

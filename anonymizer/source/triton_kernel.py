"""A user's Triton kernel as a public one: the same operations, written anew from its syntax tree.

Comments and docstrings do not survive parsing. Every name is replaced unless it is Triton's own or
Python's, every string unless Triton gives it a meaning; what is neither stops the rewriting, and
then there is no repro.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from anonymizer.graph.identifiers import find_names
from anonymizer.source.symbols.names import PublicNames

#: Strings that are arguments of Triton's own functions.
_STRINGS = frozenset("""
    fp8e4nv fp8e5 fp16 bf16 fp32 fp64 float8_e4m3fn float16 bfloat16 float32 float64 int1 int8 int16
    int32 int64 uint8 uint16 uint32 uint64 evict_first evict_last evict_normal .ca .cg .cv .wb .cs
    .wt zero nan ieee tf32 tf32x3 bf16x3 bf16x6 rtne rtz e2m1 e4m3 e5m2 add max min and or xor
    acquire release acq_rel relaxed gpu cta sys cuda hip
    """.split())
#: Which registers an inline instruction reads and writes, `=r,r`.
_CONSTRAINTS = re.compile(r"=?&?[rlfdhbvs](?:,=?&?[rlfdhbvs])*")
_METHODS = frozenset(
    "to dtype shape T trans reshape permute broadcast_to expand_dims cast element_ty value is_ptr"
    " logical_and logical_or sum max min split view ravel reduce abs sigmoid exp log type"
    " primitive_bitwidth".split()
)
_BUILTINS = frozenset(dir(builtins))


class KernelNotPublicError(Exception):
    """Raised when a kernel holds something that has no public form; the text says what, in words of
    ours.
    """


@dataclass(frozen=True)
class PublicKernel:
    """`text` defines `kernel` and what it calls; `parameters` maps its private parameters to the
    public ones.
    """

    text: str
    kernel: str
    parameters: Mapping[str, str]
    mapping: Mapping[str, str]
    strings: Mapping[str, str]

    def rewrite_constant(self, value: object) -> object:
        """A constant of a launch as the public kernel knows it.

        Raises:
            KernelNotPublicError: it is neither a number, nor a text, nor one of Triton's dtypes.
        """
        if isinstance(value, str):
            return value if value in _STRINGS else self.strings.get(value, "text")
        if isinstance(value, dict) and not str(value.get("tl")).isidentifier():
            raise KernelNotPublicError(
                "it is given a constant that is neither a number nor one of Triton's"
            )
        return value


def rebuild(source: str, name: str, vocabulary: Collection[str]) -> PublicKernel:
    """The kernel `name` of a script in public names.

    Args:
        source: the text of the script.
        name: the private name of the kernel.
        vocabulary: Triton's own names, from the user's interpreter.

    Raises:
        KernelNotPublicError: it uses what is neither Triton's, nor Python's, nor defined in
            the same file.
    """
    tree = ast.parse(source)
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if name not in functions:
        raise KernelNotPublicError("the kernel is not defined in the script itself")
    rewriter = _Rewriter(tree, functions, constants, vocabulary)
    public = rewriter.rewrite_function(name, "kernel")
    names = rewriter.names.build_mapping()
    return PublicKernel(
        "\n\n\n".join(rewriter.texts),
        public,
        {item.arg: names[item.arg] for item in _list_arguments(functions[name])},
        names,
        rewriter.strings,
    )


def _list_arguments(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self,
        tree: ast.Module,
        functions: Mapping[str, ast.FunctionDef],
        constants: Mapping[str, ast.expr],
        vocabulary: Collection[str],
    ) -> None:
        private = find_names(tree) | set(functions)
        private |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.names = PublicNames((), private)
        self.functions = functions
        self.constants = constants
        self.vocabulary = frozenset(vocabulary) | _METHODS
        self.modules = dict(_find_modules(tree))
        self.texts: list[str] = []
        self.done: dict[str, str] = {}
        self.local: frozenset[str] = frozenset()
        self.strings: dict[str, str] = {}

    def rewrite_function(self, name: str, prefix: str) -> str:
        """The public name of a function, rewritten with what it calls before it."""
        if name in self.done:
            return self.done[name]
        node = self.functions[name]
        public = self.names.name_variable(name, prefix)
        self.done[name] = public
        outer, self.local = self.local, _find_assigned(node)
        for argument in _list_arguments(node):
            self.names.name_variable(argument.arg, _choose_role(argument))
        made = copy.deepcopy(node)
        made.name = public
        made.args = self.visit(made.args)
        made.body = [self.visit(item) for item in _drop_texts(made)]
        made.decorator_list = [ast.parse("triton.jit", mode="eval").body]
        made.returns = None
        self.local = outer
        self.texts.append(ast.unparse(ast.fix_missing_locations(made)))
        return public

    def visit_arg(self, node: ast.arg) -> ast.arg:
        annotation = "constexpr" in ast.unparse(node.annotation) if node.annotation else False
        note = ast.parse("tl.constexpr", mode="eval").body if annotation else None
        return ast.arg(arg=self.names.name_variable(node.arg, _choose_role(node)), annotation=note)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.local:
            return ast.Name(self.names.name_variable(node.id, "value"), node.ctx)
        if node.id in self.modules:
            return ast.parse(self.modules[node.id], mode="eval").body
        if node.id in self.functions:
            return ast.Name(self.rewrite_function(node.id, "helper"), node.ctx)
        if node.id in self.constants:
            return self._name_constant(node.id, node.ctx)
        if node.id in _BUILTINS:
            return node
        raise KernelNotPublicError("it uses a name that is defined elsewhere")

    def _name_constant(self, name: str, context: ast.expr_context) -> ast.expr:
        value = self.constants[name]
        is_wrapped = isinstance(value, ast.Call) and ast.unparse(value.func).endswith("constexpr")
        inner = (
            value.args[0] if isinstance(value, ast.Call) and is_wrapped and value.args else value
        )
        if not isinstance(inner, ast.Constant):
            raise KernelNotPublicError("it uses a module's variable that is not a plain constant")
        if name not in self.done:
            self.done[name] = self.names.name_variable(name, "CONSTANT")
            literal = ast.unparse(self.visit(inner))
            self.texts.append(f"{self.done[name]} = tl.constexpr({literal})")
        return ast.Name(self.done[name], context)

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if node.attr not in self.vocabulary:
            raise KernelNotPublicError("it uses an attribute that is not Triton's")
        return ast.Attribute(self.visit(node.value), node.attr, node.ctx)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        known = node.arg is None or node.arg in self.vocabulary
        arg = node.arg if known else self.names.name_variable(str(node.arg), "arg")
        return ast.keyword(arg, self.visit(node.value))

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            if node.value in _STRINGS or _CONSTRAINTS.fullmatch(node.value):
                return node
            # each its own, since a kernel may compare them with what it was launched with
            public = self.strings.setdefault(node.value, f"text{len(self.strings) + 1}")
            return ast.Constant(public)
        if isinstance(node.value, bytes):
            raise KernelNotPublicError("it holds bytes")
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("text")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        note = self.visit(node.annotation) if "constexpr" in ast.unparse(node.annotation) else None
        target = self.visit(node.target)
        if note is None:
            return ast.Assign([target], self.visit(node.value))
        return ast.AnnAssign(target, note, self.visit(node.value), node.simple)


def _drop_texts(node: ast.FunctionDef) -> list[ast.stmt]:
    """The statements without texts that stand alone."""
    return [
        item
        for item in node.body
        if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
    ] or [ast.Pass()]


def _find_assigned(node: ast.FunctionDef) -> frozenset[str]:
    stored = find_names(node, context=ast.Store)
    return frozenset(stored | {item.arg for item in _list_arguments(node)})


def _choose_role(argument: ast.arg) -> str:
    """The first half of a public name: what a reader wants to know of a parameter."""
    if argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation):
        return "SIZE"
    return "ptr" if "ptr" in argument.arg.lower() else "arg"


def _find_modules(tree: ast.Module) -> list[tuple[str, str]]:
    """Local name → the public expression of Triton's modules, however the script imported them."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name in ("triton", "triton.language"):
                    local = item.asname or "triton"
                    found.append((local, "tl" if item.asname and "." in item.name else "triton"))
        elif isinstance(node, ast.ImportFrom) and node.module in ("triton", "triton.language"):
            for item in node.names:
                owner = "tl" if node.module == "triton.language" else "triton"
                public = "tl" if item.name == "language" else f"{owner}.{item.name}"
                found.append((item.asname or item.name, public))
    return found

"""What a script was started with, as literals: the options that argparse read, and the words of
`sys.argv`. How a script reads its command line is nothing that a repro needs.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TypeGuard, cast

#: The class of what argparse makes, until there are public names.
_CLASS = "<arguments>"
#: The name by which a function is called, its node, and the parameters that take positions.
_Function = tuple[str, ast.AST, list[str]]
_READERS = {each.__name__: each for each in (bool, float, int, len, str)}
#: What an expression may consist of that is computed here.
_PARTS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.UnaryOp, ast.Call),
    *(ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.expr_context, ast.unaryop, ast.boolop, ast.cmpop),
)


@dataclass(frozen=True)
class CommandLine:
    """The words after the script's name, and the values that argparse made of them, by the names of
    the options: Python's notation of each.
    """

    words: Sequence[str] = ()
    parsed: Mapping[str, str] = field(default_factory=dict)

    def write_values(self, tree: ast.Module) -> ast.Module:
        """A script with the values where it reads them; it is changed.

        What argparse makes is an object of a class that `define` writes.
        """
        holders: set[str] = set()
        if self.parsed:
            tree = _ParsedCalls(tree).visit(tree)
            holders = _find_holders(tree, self.parsed)
        return cast(ast.Module, _ValueWriter(self, holders).visit(tree))

    def define(self, steps: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements with the class of what argparse made before them, if one of them needs it."""
        nodes = [node for step in steps for node in ast.walk(step)]
        if not any(isinstance(node, ast.Name) and node.id == _CLASS for node in nodes):
            return list(steps)
        read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        made = ast.parse("class _:\n    pass").body[0]
        assert isinstance(made, ast.ClassDef)
        values = [f"{name} = {text}" for name, text in self.parsed.items() if name in read]
        made.name, made.body = _CLASS, ast.parse("\n".join(values or ["pass"])).body
        return [made, *steps]


NOTHING_GIVEN = CommandLine()


class _ParsedCalls(ast.NodeTransformer):
    """Objects of a class for the calls that parse the command line, and for those of functions that
    return what they make.
    """

    def __init__(self, tree: ast.Module) -> None:
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        self.functions = {node.name for node in functions if _returns_parsed(node)}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if node.name in self.functions else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_function = isinstance(node.func, ast.Name) and node.func.id in self.functions
        if is_function or _parses(node):
            return ast.copy_location(_make_object(), node)
        if _calls(node, "parse_known_args"):
            made = ast.Tuple([_make_object(), ast.List([], ast.Load())], ast.Load())
            return ast.copy_location(made, node)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """`options, others = parser.parse_known_args()` as two statements."""
        self.generic_visit(node)
        targets = node.targets[0]
        if not isinstance(targets, ast.Tuple) or not _is_parsed_pair(node.value):
            return node
        return [
            ast.copy_location(ast.Assign([target], value), node)
            for target, value in zip(targets.elts, node.value.elts)
        ]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`parser.parse_known_args()[0]` as the object alone."""
        self.generic_visit(node)
        is_first = ast.unparse(node.slice) == "0"
        return node.value.elts[0] if is_first and _is_parsed_pair(node.value) else node


def _parses(node: ast.AST) -> bool:
    return _calls(node, "parse_args")


def _calls(node: ast.AST, method: str) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == method


def _is_parsed_pair(node: ast.AST) -> TypeGuard[ast.Tuple]:
    """Whether this stands for the options and the words that are none."""
    return (
        isinstance(node, ast.Tuple)
        and len(node.elts) == 2
        and ast.unparse(node.elts[0]) == ast.unparse(_make_object())
    )


def _returns_parsed(function: ast.FunctionDef) -> bool:
    """Whether a function ends by returning what it has parsed."""
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return False
    assigned = _list_assigned(function)
    names = {ast.unparse(each) for each, value in assigned if _parses(value)}
    return _parses(last.value) or ast.unparse(last.value) in names


def _list_assigned(tree: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What is assigned, with the value that it gets."""
    nodes = list(ast.walk(tree))
    plain = ((each, n.value) for n in nodes if isinstance(n, ast.Assign) for each in n.targets)
    typed = ((n.target, n.value) for n in nodes if isinstance(n, ast.AnnAssign) and n.value)
    return [*plain, *typed]


def _make_object() -> ast.Call:
    return ast.Call(ast.Name(_CLASS, ast.Load()), [], [])


def _find_holders(tree: ast.Module, options: Collection[str]) -> set[str]:
    """Variables with what argparse made: those that are assigned it, and parameters that a call
    gives it.

    A variable has one meaning in all of the script. So of a parameter of the same name that no call
    gives it nothing but options may be read.
    """
    functions = list(_list_functions(tree))
    assigned = [(ast.unparse(each), ast.unparse(value)) for each, value in _list_assigned(tree)]
    given = list(_list_given(tree, functions))
    others = {
        (function, name)
        for _, function, names in functions
        for name in names
        if not _list_read(function, name) <= set(options)
    }
    found: set[str] = set()
    more = {ast.unparse(_make_object())}
    while more:
        found |= more
        more = {target for target, value in assigned if value in found}
        takers = {(function, name) for function, name, value in given if value in found}
        more |= {name for _, name in takers} - {name for _, name in others - takers}
        more -= found
    return {each for each in found if each.isidentifier()}


def _list_functions(tree: ast.Module) -> Iterator[_Function]:
    """The functions of a script, and under the name of a class what makes its objects."""
    for owner in ast.walk(tree):
        for node in ast.iter_child_nodes(owner):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
                decorators = [ast.unparse(each) for each in node.decorator_list]
                if isinstance(owner, ast.ClassDef) and "staticmethod" not in decorators:
                    del names[:1]
                    if node.name == "__init__":
                        yield owner.name, node, names
                yield node.name, node, names


def _list_read(function: ast.AST, name: str) -> set[str]:
    """The attributes that a function reads of one of its parameters."""
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name
    }


def _list_given(
    tree: ast.Module, functions: Sequence[_Function]
) -> Iterator[tuple[ast.AST, str, str]]:
    """What calls give: the function, its parameter, and the text of the value."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = getattr(call.func, "attr", getattr(call.func, "id", ""))
        for name, function, parameters in functions:
            if name == called:
                named = ((each.arg or "", each.value) for each in call.keywords)
                for parameter, value in (*zip(parameters, call.args), *named):
                    yield function, parameter, ast.unparse(value)


class _ValueWriter(ast.NodeTransformer):
    """Literals for what is read from the command line, and for what is computed of that alone."""

    def __init__(self, given: CommandLine, holders: Collection[str]) -> None:
        values = {name: ast.literal_eval(text) for name, text in given.parsed.items()}
        self._known: dict[str, object] = dict.fromkeys(holders, SimpleNamespace(**values))
        self._known["sys"] = SimpleNamespace(argv=["script", *given.words])
        self._paths = {"sys.argv", *(f"{holder}.{name}" for holder in holders for name in values)}

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.expr) and self._is_known(node):
            try:
                return ast.copy_location(_write(self._evaluate(node)), node)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                pass  # the script may never come there, or computes what is no literal
        return cast("ast.AST | None", super().visit(node))

    def _is_known(self, node: ast.expr) -> bool:
        """Whether an expression reads the command line, and nothing else that is not known here."""
        parts = list(ast.walk(node))
        names = {each.id for each in parts if isinstance(each, ast.Name)}
        paths = {ast.unparse(each) for each in parts if isinstance(each, ast.Attribute)}
        return (
            bool(paths)
            and paths <= self._paths
            and names <= {*self._known, *_READERS}
            and all(isinstance(each, _PARTS) for each in parts)
            and not any(isinstance(each, ast.Store) for each in parts)
        )

    def _evaluate(self, node: ast.expr) -> object:
        """The value of an expression of `_PARTS`."""
        code = compile(ast.Expression(node), "script", "eval")
        return eval(code, {"__builtins__": {}, **_READERS, **self._known})

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self._leave_out(node, node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self._leave_out(node, [node.target])

    def _leave_out(self, node: ast.stmt, targets: Sequence[ast.expr]) -> ast.AST:
        """Nothing in the place of a statement that changes options alone: their values are those
        that they have after it.
        """
        if all(ast.unparse(target) in self._paths for target in targets):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        was_known = isinstance(node.test, ast.Constant)
        self.generic_visit(node)
        if was_known or not isinstance(node.test, ast.Constant):
            return node
        taken = node.body if node.test.value else node.orelse
        return taken or ast.copy_location(ast.Pass(), node)


def _write(value: object) -> ast.expr:
    """The literal of a value.

    Raises:
        ValueError: it has none.
    """
    made = ast.parse(repr(value), mode="eval").body
    ast.literal_eval(made)
    return made

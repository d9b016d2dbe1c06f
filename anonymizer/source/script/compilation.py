"""The compiled call of a script, and what it compiles."""

from __future__ import annotations

import ast
import copy

from anonymizer.graph.program_factory import walk_scope
from anonymizer.source.locations import NodeExchange, list_bodies
from anonymizer.source.script.steps import read_name, strip
from anonymizer.source.symbols.imports import KNOWN_MODULES
from anonymizer.source.symbols.symbol_table import SourceError

#: The function that is compiled, what compiles it, and what the failing call returns, until there
#: are public names: no program has these.
FUNCTION, COMPILE, RESULT = "<function>", "<compile>", "<result>"
_COMPILER = "torch.compile"


class Compilation(ast.NodeTransformer):
    """`torch.compile(f, …)` becomes `compile(f)`, whose arguments belong to the assertion; a
    function that is compiled by a decorator, or without a name, gets one.
    """

    def __init__(self) -> None:
        self.compiled: set[str] = set()
        self._attributes: set[str] = set()
        self._functions: list[ast.stmt] = []

    def rewrite(self, step: ast.stmt) -> list[ast.stmt]:
        """The statements that stand for one of the script.

        Raises:
            SourceError: it compiles with a backend of its own.
        """
        self._functions = []
        made: ast.stmt = self.visit(step)
        if isinstance(made, ast.FunctionDef) and (own := self._take_decorator(made)):
            self.compiled.add(made.name)
            return [own, _assign(made.name, _compile(ast.Name(own.name, ast.Load())), step)]
        for node in walk_scope([made]):
            if isinstance(node, ast.Assign) and self.makes(node.value):
                self.compiled |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        for node in ast.walk(made):
            if isinstance(node, ast.Assign) and _is_compiled(node.value):
                targets = (each for each in node.targets if isinstance(each, ast.Attribute))
                self._attributes |= {each.attr for each in targets}
        call = made.value if isinstance(made, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            owner = call.func.value
            if (
                call.func.attr == "compile"
                and isinstance(owner, ast.Name)
                and owner.id not in KNOWN_MODULES
            ):
                name = owner.id  # a module that compiles itself
                self.compiled.add(name)
                return [_assign(name, _compile(ast.Name(name, ast.Load())), step)]
        return [*self._functions, made]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Call) and node.args and self._is_compiler(node.func):
            return ast.copy_location(_compile(self._name(node.args[0])), node)
        if self._is_compiler(node) and node.args:
            return ast.copy_location(_compile(self._name(node.args[0])), node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        for each in node.body:
            if not isinstance(each, ast.FunctionDef):
                continue
            own, last = each.decorator_list, each.body[-1]
            if any(map(self._is_compiler, own)):
                self._attributes.add(each.name)
                each.decorator_list = [
                    ast.Name(COMPILE, ast.Load()) if self._is_compiler(one) else one for one in own
                ]
            elif own and isinstance(last, ast.Return) and last.value and _is_compiled(last.value):
                self._attributes.add(each.name)  # a property
        return node

    def makes(self, called: ast.expr) -> bool:
        """Whether what is called is compiled."""
        if isinstance(called, ast.Attribute) and called.attr in self._attributes:
            return True
        is_named = isinstance(called, ast.Name) and called.id in self.compiled
        return is_named or _is_compiled(called)

    def _is_compiler(self, node: ast.expr) -> bool:
        """Whether an expression is `torch.compile` or a call of it.

        Raises:
            SourceError: its backend is the script's own.
        """
        if not isinstance(node, ast.Call):
            return ast.unparse(node) == _COMPILER
        if ast.unparse(node.func) != _COMPILER:
            return False
        for each in node.keywords:
            if each.arg == "backend" and not isinstance(each.value, ast.Constant):
                raise SourceError("a custom backend")
        return True

    def _name(self, given: ast.expr) -> ast.expr:
        """What is compiled; a lambda as a function with a name."""
        if not isinstance(given, ast.Lambda):
            return given
        function = ast.parse("def _():\n    pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.name = FUNCTION
        function.args, function.body = given.args, [ast.Return(given.body)]
        self._functions.append(ast.fix_missing_locations(ast.copy_location(function, given)))
        return ast.Name(FUNCTION, ast.Load())

    def _take_decorator(self, made: ast.FunctionDef) -> ast.FunctionDef | None:
        """The function without the decorator that compiles it, under another name."""
        kept = [each for each in made.decorator_list if not self._is_compiler(each)]
        if len(kept) == len(made.decorator_list):
            return None
        own = copy.copy(made)
        own.name, own.decorator_list = FUNCTION, kept
        return own


def _compile(given: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(COMPILE, ast.Load()), [given], [])


def _is_compiled(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_compiled(node.body) or _is_compiled(node.orelse)
    return isinstance(node, ast.Call) and ast.unparse(node.func) == COMPILE


def _assign(name: str, value: ast.expr, place: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, place))


def take_call(step: ast.stmt, line: int, made: Compilation | str) -> tuple[ast.stmt, list[str]]:
    """Takes the failing call out of its statement.

    Args:
        step: the statement.
        line: the line of the script in which the call is.
        made: what is compiled, or where the failing call is made in a function that the statement
            calls, its name: then the whole call of that function is kept.

    Returns:
        The statement with nothing but the call, whose value gets the name `RESULT`, and the names
        that the call is given.

    Raises:
        SourceError: no such call is in the line.
    """
    calls = [
        (part, node)
        for part in ast.walk(step)
        if isinstance(part, (ast.Expr, ast.Assign, ast.AugAssign, ast.Assert, ast.Return))
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or line)
    ]
    if isinstance(made, Compilation):
        calls = [(part, node) for part, node in calls if made.makes(node.func)][-1:]
    else:  # another name, as of a module's `forward`, is not in the statement
        named = [(part, node) for part, node in calls if read_name(node.func) == made]
        calls = named or calls
    if not calls:
        raise SourceError("the compiled call is not found in its line")
    statement, call = calls[0]
    arguments = (
        [each.id for each in call.args if isinstance(each, ast.Name)]
        if isinstance(made, Compilation)
        else []
    )
    kept = _assign(RESULT, call, statement)
    if statement is not step:
        kept = _put_before(step, statement, call, kept)
    return kept, list(dict.fromkeys(arguments))


def _put_before(step: ast.stmt, statement: ast.stmt, call: ast.Call, made: ast.stmt) -> ast.stmt:
    """A loop, or the like, in which the call is made before the statement that it is in, and the
    statement reads its value; those that assert something of it or print it go.
    """
    NodeExchange(call, ast.copy_location(ast.Name(RESULT, ast.Load()), call)).visit(statement)
    is_read = not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Name)
    for statements in list_bodies(step):
        if statement in statements:
            at = statements.index(statement)
            rest = [statement] * is_read + statements[at + 1 :]
            statements[at:] = [made, *(each for each in rest if not _is_assertion(each))]
    return strip(step)[0]


def _is_assertion(statement: ast.stmt) -> bool:
    """Whether a statement is an `if` that only raises."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and isinstance(statement.body[-1], ast.Raise)
    )

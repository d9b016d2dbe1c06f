"""The statements of a script that run before its failing call, in their order."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Sequence

from anonymizer.graph.program_factory import walk_scope
from anonymizer.source.locations import BLOCKS, IdentifierRenaming, NodeExchange, list_bodies
from anonymizer.source.script.decorators import has_line
from anonymizer.source.symbols.symbol_table import SourceError

#: Functions of the script with a line in each, from the outermost to the one that makes the call.
Frames = Sequence[tuple[str, int]]
_GUARD = "__name__ == '__main__'"
#: Modules whose results a tensor is seldom made of.
_IDLE = ("argparse", "logging", "warnings")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def list_steps(tree: ast.Module, frames: Frames) -> tuple[list[ast.stmt], ast.stmt, str | None]:
    """The statements of a script up to its failing call, in the order in which they run.

    A function that leads to the call, such as `main`, is written where a statement calls it: its
    parameters become names of what they are given. So is a method, in which `self` becomes the
    object.

    Returns:
        The statements before the call, the one that makes it, and the function of the script that
        makes it there; None where the statement itself does.

    Raises:
        SourceError: none of the script's own statements makes the call, or one in a function that
            cannot be written where it is called.
    """
    if not frames:
        raise SourceError("the script does not make the call")
    steps = [each for node in tree.body for each in _without_guard(node)]
    (name, line), *inner = frames
    if name != "<module>":
        function = _find_function(tree.body, name, line)
        if function is None or function not in steps or ast.unparse(function.args):
            raise SourceError("the call is made in a function with parameters")
        steps = [*(each for each in steps if each is not function), *_copy_body(function, line)]
    while True:
        at = _find_step(steps, line)
        ending = _end_with(steps[at], line)
        if not inner:
            return steps[:at], steps[at], None
        name = inner[0][0]
        function = _find_function([*tree.body, *steps[: at + 1]], *inner[0])
        found = _find_call(steps[at], name, line) if function is not None else None
        if function is None or found is None:
            return steps[:at], steps[at], name
        statement, call = found
        try:
            is_last = statement is ending
            steps = _write_out(steps[: at + 1], function, found, inner[0][1], is_last)
        except SourceError:
            if not call.args and not call.keywords and not isinstance(call.func, ast.Attribute):
                raise
            return steps[:at], steps[at], name  # the whole call is kept
        line = inner.pop(0)[1]


def _write_out(
    steps: Sequence[ast.stmt],
    function: ast.FunctionDef,
    found: tuple[ast.stmt, ast.Call],
    line: int,
    is_last: bool,
) -> list[ast.stmt]:
    """The steps with a function in the place of its call in the last of them: up to a line of it
    where nothing follows the call, and whole where it stands in a loop.
    """
    *before, step = steps
    statement, call = found
    function, bound = _bind_object(function, call)
    bound += _bind(function, call)
    if not is_last:
        body = [*bound, *_copy_whole_body(function, statement, call)]
        return [*before, _put_into(step, statement, body)]
    body = [*bound, *_copy_body(function, line)]
    if statement is step:
        return [*_leave_out(before, function), *body]
    return [*_leave_out(before, function), _put_into(step, statement, body)]


def _end_with(step: ast.stmt, line: int) -> ast.stmt:
    """Takes what follows the statement of a line out of a `with`, and out of those in it; answers
    the statement.
    """
    while isinstance(step, ast.With):
        at = max((at for at, each in enumerate(step.body) if _reaches(each, line)), default=None)
        if at is None:
            break
        del step.body[at + 1 :]
        step = step.body[-1]
    return step


def _reaches(statement: ast.stmt, line: int) -> bool:
    """Whether a line belongs to a statement or to one that was put into it; a `def` around it does
    not count.
    """
    return not isinstance(statement, _SCOPES) and any(
        isinstance(node, ast.stmt) and has_line(node, line) for node in walk_scope([statement])
    )


def _find_function(statements: Sequence[ast.stmt], name: str, line: int) -> ast.FunctionDef | None:
    """The function of a name that has a line; of copies the last one."""
    found = [
        node
        for each in statements
        for node in ast.walk(each)
        if isinstance(node, ast.FunctionDef) and node.name == name and has_line(node, line)
    ]
    return found[-1] if found else None


def read_name(called: ast.expr) -> str:
    """The name of a function or a method that is called."""
    return ast.unparse(called).rpartition(".")[2]


def _find_call(step: ast.stmt, name: str, line: int) -> tuple[ast.stmt, ast.Call] | None:
    """The call of a function or a method in a line of a statement, and the simple statement that
    makes it, which may stand in a loop or a `with`.
    """
    for statement in walk_scope([step]):
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            continue
        for node in ast.walk(statement.value):
            if not isinstance(node, ast.Call) or read_name(node.func) != name:
                continue
            if node.lineno <= line <= (node.end_lineno or line):
                return statement, node
    return None


def _copy_whole_body(
    function: ast.FunctionDef, statement: ast.stmt, call: ast.Call
) -> list[ast.stmt]:
    """All statements of a function, in the place of one that calls it and may need its value."""
    if function.decorator_list:
        raise SourceError("the call is made in a function with a decorator")
    body = [copy.deepcopy(each) for each in function.body]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_value = getattr(statement, "value", None) is call
    name = f"<value {call.lineno}>"
    if not is_value:
        targets = [ast.Name(name, ast.Store())]
    if not _assign_returned(body, targets) and targets:
        raise SourceError("the call is made in a function whose value is not told")
    if any(isinstance(node, (ast.Yield, ast.Await, ast.Return)) for node in walk_scope(body)):
        raise SourceError("the call is made in a function with several ends")
    if is_value:
        return body
    kept = ast.copy_location(ast.Name(name, ast.Load()), call)
    NodeExchange(call, kept).visit(statement)
    return [*body, statement]


def _assign_returned(body: list[ast.stmt], targets: list[ast.expr]) -> bool:
    """Puts an assignment in the place of the `return` at the end, if there is one."""
    last = body[-1]
    if isinstance(last, ast.With):
        return _assign_returned(last.body, targets)
    if not isinstance(last, ast.Return):
        return False
    value = last.value or ast.Constant(None)
    made = ast.Assign(targets, value) if targets else ast.Expr(value)
    body[-1] = ast.fix_missing_locations(ast.copy_location(made, last))
    return True


def _put_into(step: ast.stmt, statement: ast.stmt, body: Sequence[ast.stmt]) -> ast.stmt:
    """A statement with others in the place of one inside of it."""
    for statements in list_bodies(step):
        if statement in statements:
            at = statements.index(statement)
            statements[at : at + 1] = body
    return step


def _bind_object(
    function: ast.FunctionDef, call: ast.Call
) -> tuple[ast.FunctionDef, list[ast.stmt]]:
    """A method as a function without `self`, or the class, which its text has another name for, and
    the statements that bind that; any other function as it is.
    """
    if not isinstance(call.func, ast.Attribute):
        return function, []
    made = copy.deepcopy(function)
    kind = [ast.unparse(each) for each in made.decorator_list]
    if kind in (["staticmethod"], ["classmethod"]):
        made.decorator_list = []
    if kind == ["staticmethod"]:
        return made, []
    parameters = made.args.posonlyargs or made.args.args
    reads_class = any(isinstance(each, ast.Name) and each.id == "super" for each in ast.walk(made))
    if not parameters or reads_class:
        raise SourceError("the call is made in a method that asks for its class")
    own, owner = parameters.pop(0).arg, call.func.value
    name = owner.id if isinstance(owner, ast.Name) else f"<object {call.lineno}>"
    bound: list[ast.stmt] = []
    if not isinstance(owner, ast.Name):
        assignment = ast.Assign([ast.Name(name, ast.Store())], owner)
        bound.append(ast.fix_missing_locations(ast.copy_location(assignment, call)))
    made.body = [IdentifierRenaming({own: name}).visit(each) for each in made.body]
    return made, bound


def _leave_out(steps: Sequence[ast.stmt], function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements without a function that none of them calls."""
    kept = [each for each in steps if each is not function]
    is_used = any(
        isinstance(node, ast.Name) and node.id == function.name
        for each in kept
        for node in ast.walk(each)
    )
    return list(steps) if is_used else kept


def _without_guard(node: ast.stmt) -> list[ast.stmt]:
    is_guard = isinstance(node, ast.If) and ast.unparse(node.test) == _GUARD
    return node.body if is_guard else [node]  # type: ignore[attr-defined]


def _bind(function: ast.FunctionDef, call: ast.Call) -> list[ast.stmt]:
    """An assignment for each parameter of a function that a call of it names otherwise."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    is_plain = not any(isinstance(each, ast.Starred) for each in call.args)
    if arguments.vararg or arguments.kwarg or not is_plain or len(call.args) > len(names):
        raise SourceError("the call is made in a function of any number of arguments")
    given: dict[str | None, ast.expr] = {}
    if arguments.defaults:
        given.update(zip(names[-len(arguments.defaults) :], arguments.defaults))
    named = zip(arguments.kwonlyargs, arguments.kw_defaults)
    given.update({each.arg: value for each, value in named if value is not None})
    given.update(zip(names, call.args))
    given.update({each.arg: each.value for each in call.keywords})
    wanted = [*names, *(each.arg for each in arguments.kwonlyargs)]
    if set(given) != set(wanted):
        raise SourceError("the call is made in a function whose arguments are not known")
    return [
        ast.fix_missing_locations(
            ast.copy_location(
                ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(given[name])), call
            )
        )
        for name in wanted
        if ast.unparse(given[name]) != name
    ]


def _copy_body(function: ast.FunctionDef, line: int) -> list[ast.stmt]:
    """The statements of a function that run where it is called, up to a line of it and beyond."""
    if function.decorator_list:
        raise SourceError("the call is made in a function with a decorator")
    body = function.body
    if any(isinstance(node, (ast.Yield, ast.Await)) for node in walk_scope(body)):
        raise SourceError("the call is made in a generator")
    # the function itself stays where something else calls it
    kept = [copy.deepcopy(each) for node in body for each in _without_end(node, line)]
    if any(isinstance(node, ast.Return) for node in walk_scope(kept)):
        raise SourceError("the call is made in a function with several ends")
    return kept


def _without_end(node: ast.stmt, line: int) -> list[ast.stmt]:
    """A statement; of an `if` before the line that ends the function the branch that went on, of
    one that has the line in such a branch that alone, and of a `return` in the line what it
    returns.
    """
    if isinstance(node, ast.Return):
        if node.value is None or not node.lineno <= line <= (node.end_lineno or line):
            return []
        return [ast.copy_location(ast.Expr(node.value), node)]
    if isinstance(node, ast.With):
        made = copy.copy(node)
        made.body = [each for part in node.body for each in _without_end(part, line)]
        return [made] if made.body else []
    if not isinstance(node, ast.If):
        return [node]
    if (node.end_lineno or line) >= line:
        taken = next((each for each in (node.body, node.orelse) if _has_line(each, line)), [])
        is_end = any(isinstance(each, ast.Return) for each in walk_scope(taken))
        return [each for part in taken for each in _without_end(part, line)] if is_end else [node]
    for ending, other in ((node.body, node.orelse), (node.orelse, node.body)):
        if ending and isinstance(ending[-1], ast.Return):
            return [each for part in other for each in _without_end(part, line)]
    return [node]


def _has_line(statements: Sequence[ast.stmt], line: int) -> bool:
    return any(has_line(each, line) for each in statements)


def _find_step(steps: Sequence[ast.stmt], line: int) -> int:
    """The last statement that has the line, itself or in a statement that was put into it; a `def`
    of which the line is inside is none.
    """
    for at in reversed(range(len(steps))):
        if _reaches(steps[at], line):
            return at
    raise SourceError("the call is made by no statement of the script itself")


def drop_idle_modules(steps: Sequence[ast.stmt], last: ast.stmt) -> list[ast.stmt]:
    """The steps without those that parse the command line or set up a log, where nothing else reads
    what they make.

    Args:
        last: the statement after them.
    """
    for module in _IDLE:
        steps = _drop_idle_module(steps, last, module)
    return list(steps)


def _drop_idle_module(steps: Sequence[ast.stmt], last: ast.stmt, module: str) -> Sequence[ast.stmt]:
    made, idle = {module}, []
    for step in steps:
        used = {node.id for node in ast.walk(step) if isinstance(node, ast.Name)}
        if used & made and isinstance(step, (ast.Assign, ast.Expr)):
            idle.append(step)
            stored = (node for node in ast.walk(step) if isinstance(node, ast.Name))
            made |= {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    kept = [step for step in steps if step not in idle]
    is_read = any(
        isinstance(node, ast.Name) and node.id in made
        for step in (*kept, last)
        for node in ast.walk(step)
    )
    return steps if is_read else kept


class PairSplitter(ast.NodeTransformer):
    """`plain, fast = run(False), run(True)` as two statements: the failing call is made in one of
    two calls of a function of the script. What a value reads is not what the statement assigns.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        targets, values = node.targets[0], node.value
        if len(node.targets) > 1 or not isinstance(targets, ast.Tuple):
            return node
        if not isinstance(values, ast.Tuple) or len(targets.elts) != len(values.elts):
            return node
        names = {each.id for each in targets.elts if isinstance(each, ast.Name)}
        read = {each.id for each in ast.walk(values) if isinstance(each, ast.Name)}
        made = [ast.unparse(each.func) for each in values.elts if isinstance(each, ast.Call)]
        called = [name for name in made if name in self.functions]
        is_plain = len(names) == len(targets.elts) and not names & read
        if not is_plain or len(called) == len(set(called)):
            return node
        return [
            ast.copy_location(ast.Assign([target], value), value)
            for target, value in zip(targets.elts, values.elts)
        ]


class DictWriter(ast.NodeTransformer):
    """`dict(size=2)` as `{"size": 2}`: what were words are texts, which have public ones."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        names = [each.arg for each in node.keywords if each.arg is not None]
        if ast.unparse(node.func) != "dict" or node.args or len(names) != len(node.keywords):
            return node
        keys: list[ast.expr | None] = [ast.Constant(name) for name in names]
        written = ast.Dict(keys, [each.value for each in node.keywords])
        return ast.fix_missing_locations(ast.copy_location(written, node))


def strip(step: ast.stmt | None) -> list[ast.stmt]:
    """A statement without what is only there to be read, in loops and the like as well: of `print`
    and what is compared the calls that are made for it.
    """
    if step is None or isinstance(step, ast.Pass):
        return []
    if isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant):
        return []
    call = step.value if isinstance(step, ast.Expr) else None
    shown = step.test if isinstance(step, ast.Assert) else None
    if isinstance(call, ast.Call) and _is_shown_or_compared(call):
        shown = call
    if shown is not None:
        return [ast.copy_location(ast.Expr(each), step) for each in _list_calls(shown)]
    if not isinstance(step, _SCOPES):  # what a function asserts is part of the program
        for statements in _list_own_bodies(step):
            kept = [part for each in statements for part in strip(each)]
            statements[:] = kept or [ast.copy_location(ast.Pass(), step)]
    return [step]


def _is_shown_or_compared(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name == "print" or name.startswith("torch.testing.")


def _list_calls(node: ast.AST) -> list[ast.Call]:
    """The outermost calls of what may be the script's own: neither torch's functions nor
    Python's.
    """
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and not _is_public(str(name)):
        return [node]
    return [found for each in ast.iter_child_nodes(node) for found in _list_calls(each)]


def _is_public(path: str) -> bool:
    return path.startswith("torch.") or hasattr(builtins, path)


def _list_own_bodies(step: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements of a loop, an `if`, a `with` or a `try`, not those inside of them."""
    owners = [step, *getattr(step, "handlers", ())]
    bodies = [getattr(each, name, []) for each in owners for name in BLOCKS]
    return [each for each in bodies if each]

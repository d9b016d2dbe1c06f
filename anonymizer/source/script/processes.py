"""A script of several processes as one of a single process: the function that each of them runs is
called once, and the process group has nobody else in it.

That is how torch tests itself: with a group of one process, or with the backend `fake`, whose
collectives return at once (`torch/testing/_internal/distributed/fake_pg.py`, 2.1 to 2.15).
"""

from __future__ import annotations

import ast
import copy
import enum
from collections.abc import Mapping, Sequence

from anonymizer.graph.identifiers import NameSubstitution
from anonymizer.graph.program_factory import walk_scope
from anonymizer.source.script.steps import Frames
from anonymizer.source.symbols.symbol_table import SourceError

#: The one in whose place the program stands.
_RANK = 0
#: How many processes a group has of which the script does not say it.
_SIZE = 2
_INIT = "torch.distributed.init_process_group"
_SPAWN = "torch.multiprocessing.spawn"
_PROCESSES = ("torch.multiprocessing.Process", "multiprocessing.Process")
_STORES = {
    "gloo": "torch.distributed.HashStore()",
    "fake": "torch.testing._internal.distributed.fake_pg.FakeStore()",
}
#: What launchers tell each process by, and what only helps processes to meet.
_RANKS, _SIZES = ("RANK", "LOCAL_RANK"), ("WORLD_SIZE", "LOCAL_WORLD_SIZE")
_MEETING = ("MASTER_ADDR", "MASTER_PORT")


class Group(enum.Enum):
    """The process group of the rewritten script, by its backend."""

    #: One process that really communicates, with itself.
    ALONE = "gloo"
    #: As many as the script has, of which only this one is there.
    FAKE = "fake"


def list_groups(text: str) -> tuple[Group, ...]:
    """The groups in which the program of a script may stand, the simplest first; which of them
    makes no difference where a script has none.
    """
    return tuple(Group) if "init_process_group" in text else (Group.ALONE,)


def become_one_process(
    tree: ast.Module, paths: Mapping[str, str], frames: Frames, group: Group
) -> Frames:
    """Rewrites a script in place.

    Args:
        tree: the script.
        paths: what its imports bind, with the whole paths.
        frames: where the failing call is made.
        group: the process group that the script has then.

    Returns:
        Where it is made then: started processes have no frames above the function that they run.

    Raises:
        SourceError: what the function of a started process is given cannot be told.
    """
    start = _find_start(tree, paths)
    size: ast.expr | None = None
    if start is not None and frames and frames[0][0] == start.function:
        size = start.size
        frames = (*start.list_frames(tree), *frames)
        start.replace(None if group == Group.FAKE else size)
    _GroupRewriting(paths, group, size).visit(tree)
    return frames


class _Start:
    """A statement that starts processes, as `torch.multiprocessing.spawn(work, args=(2,))`.

    Args:
        body: the statements that it is one of.
        at: its index.
        owner: the function whose body that is; None: the script itself.
        call: what names the function and its arguments.
    """

    def __init__(
        self, body: list[ast.stmt], at: int, owner: ast.FunctionDef | None, call: ast.Call
    ) -> None:
        self.body, self.at, self.owner = body, at, owner
        given: dict[str | None, ast.expr] = {each.arg: each.value for each in call.keywords}
        self.is_spawn = "target" not in given
        named = dict(zip(("fn", "args", "nprocs"), call.args)) if self.is_spawn else {}
        work = given.get("target") or given.get("fn") or named.get("fn")
        self.function = work.id if isinstance(work, ast.Name) else ""
        self.args = given.get("args") or named.get("args") or ast.Tuple([], ast.Load())
        self.size = given.get("nprocs") or named.get("nprocs")

    def list_frames(self, tree: ast.Module) -> list[tuple[str, int]]:
        """The way from the script to the statement."""
        line = self.body[self.at].lineno
        if self.owner is None:
            return [("<module>", line)]
        calls = [
            node.lineno
            for node in walk_scope(tree.body)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == self.owner.name
        ]
        if len(calls) != 1:
            raise SourceError("processes are started by a function that is not called once")
        return [("<module>", calls[0]), (self.owner.name, line)]

    def replace(self, size: ast.expr | None) -> None:
        """Puts a call of the function in its place.

        Args:
            size: how the number of processes is written, which is one; None where it stays.
        """
        if not isinstance(self.args, ast.Tuple):
            raise SourceError("the arguments of a process are not told where it is started")
        statement = self.body[self.at]
        counters = {
            node.target.id: ast.Constant(_RANK)
            for node in ast.walk(statement)
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name)
        }
        given = [NameSubstitution(counters).visit(copy.deepcopy(each)) for each in self.args.elts]
        if size is not None:
            given = [
                ast.Constant(1) if ast.dump(each) == ast.dump(size) else each for each in given
            ]
        rank = [ast.Constant(_RANK)] if self.is_spawn else []
        call = ast.Expr(ast.Call(ast.Name(self.function, ast.Load()), [*rank, *given], []))
        for node in ast.walk(call):
            ast.copy_location(node, statement)
        self.body[self.at] = ast.fix_missing_locations(call)


def _find_start(tree: ast.Module, paths: Mapping[str, str]) -> _Start | None:
    """The statement that starts processes, of the script itself or one of its functions."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)]
    bodies = [(None, tree.body), *((None, body) for body in blocks)]
    for owner, body in [*bodies, *((function, function.body) for function in functions)]:
        for at, statement in enumerate(body):
            call = _find_starting_call(statement, paths)
            if call is not None and not isinstance(statement, ast.If):
                return _Start(body, at, owner, call)
    return None


def _find_starting_call(statement: ast.stmt, paths: Mapping[str, str]) -> ast.Call | None:
    for node in walk_scope([statement]):
        if isinstance(node, ast.Call) and _write_whole(node.func, paths) in (_SPAWN, *_PROCESSES):
            return node
    return None


def _write_whole(node: ast.expr, paths: Mapping[str, str]) -> str:
    """A name with the whole path of what it was imported by."""
    root, dot, rest = ast.unparse(node).partition(".")
    return paths.get(root, root) + dot + rest


class _GroupRewriting(ast.NodeTransformer):
    """A process group that one process can have, and no word of how several of them meet."""

    def __init__(self, paths: Mapping[str, str], group: Group, size: ast.expr | None) -> None:
        self.paths, self.group = paths, group
        self.size = size or ast.Constant(_SIZE)
        if group == Group.ALONE:
            self.size = ast.Constant(1)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        path = _write_whole(called, self.paths) if called is not None else ""
        if path == _INIT and isinstance(node.value, ast.Call):
            return self._write_init(node, node.value)
        is_end = path == "torch.distributed.destroy_process_group"
        is_meeting = path.startswith("os.environ.") and self._names_meeting(node)
        return (
            ast.copy_location(ast.Pass(), node)
            if is_end or is_meeting
            else self.generic_visit(node)
        )

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and self._names_meeting(target):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._read_variable(node, node.value, [node.slice])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        made = self._read_variable(node, node.func, node.args)
        if not isinstance(made, ast.Call) or ast.unparse(made.func) != "int" or not made.args:
            return made
        read = made.args[0]
        if isinstance(read, ast.Constant) and read.value in (str(_RANK), self._write_size()):
            # a text of digits has no public form
            return ast.copy_location(ast.Constant(int(str(read.value))), node)
        return made

    def _read_variable(self, node: ast.expr, read: ast.expr, given: Sequence[ast.expr]) -> ast.AST:
        """What a variable of the launcher says in the group."""
        path = _write_whole(read, self.paths)
        name = given[0].value if given and isinstance(given[0], ast.Constant) else None
        if path in ("os.environ", "os.environ.get", "os.getenv"):
            if name in _RANKS:
                return ast.copy_location(ast.Constant(str(_RANK)), node)
            if name in _SIZES:
                return ast.copy_location(ast.Constant(self._write_size()), node)
        return self.generic_visit(node)

    def _write_size(self) -> str:
        """The number of processes, as a launcher says it."""
        return ast.unparse(self.size)

    def _names_meeting(self, node: ast.AST) -> bool:
        texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
        return not texts.isdisjoint((*_MEETING, *_RANKS, *_SIZES))

    def _write_init(self, node: ast.Expr, call: ast.Call) -> ast.AST:
        """The statement, in a process whose runs share one group."""
        given = {each.arg: each.value for each in call.keywords}
        kept = given if self.group == Group.FAKE else {}
        backend = self.group.value
        words = {
            "rank": kept.get("rank", ast.Constant(_RANK)),
            "world_size": kept.get("world_size", self.size),
            "store": ast.parse(_STORES[backend], mode="eval").body,
        }
        made = ast.Call(
            ast.parse(_INIT, mode="eval").body,
            [ast.Constant(backend)],
            [ast.keyword(name, value) for name, value in words.items()],
        )
        guard = ast.parse("not torch.distributed.is_initialized()", mode="eval").body
        statement = ast.If(guard, [ast.Expr(made)], [])
        for each in ast.walk(statement):
            ast.copy_location(each, node)
        return ast.fix_missing_locations(statement)

"""What decorates the functions on the way to a failing call, as statements: such a function is
written where it is called, and what a decorator does around it is written there too.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from anonymizer.graph.program_factory import walk_scope
from anonymizer.source.symbols.imports import KNOWN_MODULES

#: Contexts of torch that decorate a function as well: it runs in a `with` of the same text.
_CONTEXTS = frozenset(
    f"torch.{name}"
    for name in "no_grad enable_grad inference_mode set_grad_enabled autocast amp.autocast"
    " cpu.amp.autocast cuda.amp.autocast amp.autocast_mode.autocast device"
    " autograd.no_grad autograd.enable_grad autograd.inference_mode autograd.set_grad_enabled"
    " autograd.set_multithreading_enabled nn.attention.sdpa_kernel compiler.set_stance"
    " _dynamo.config.patch _inductor.config.patch".split()
)
#: Decorators whose function does what it does without them, when it is called for a first time and
#: is not compiled.
_IDLE = frozenset(
    "functools.cache functools.lru_cache typing.final typing.override abc.abstractmethod"
    " torch.profiler.record_function torch.autograd.profiler.record_function"
    " torch.distributed.elastic.multiprocessing.errors.record"
    " torch.compiler.disable torch._dynamo.disable torch.jit.unused torch.jit.ignore".split()
)
_Function = ast.FunctionDef


def write_decorators_out(
    tree: ast.Module, frames: Sequence[tuple[str, int]], paths: Mapping[str, str]
) -> list[tuple[str, int]]:
    """Takes the decorators off the functions that lead to a call, where it can be said in
    statements what they do: contexts of torch and of the script become a `with` around what the
    function does, and so does the `with` in which a wrapper calls it; properties become methods.

    Args:
        tree: the script, which is changed.
        frames: the functions that lead to the call, outermost first, each with its line.
        paths: what the names of the script's imports stand for.

    Returns:
        The frames without those of wrappers.
    """
    functions = [each for each in tree.body if isinstance(each, _Function)]
    makers = {each.name: each for each in functions}
    kept: list[tuple[str, int]] = []
    waiting = list(frames)
    while waiting:
        name, line = waiting.pop()
        kept.insert(0, (name, line))
        function = _find(tree, name, line)
        if function is not None and _is_generator(function):
            continue  # its statements run when it is asked for a value
        while function is not None and function.decorator_list:
            decorator = function.decorator_list[-1]
            wrapper = _find_wrapper(decorator, makers, waiting[-1:])
            if wrapper is not None:
                contexts = _list_contexts(wrapper, waiting.pop()[1], makers)
            else:
                found = _explain(decorator, makers, paths)
                if found is None:
                    break
                contexts = found
            function.decorator_list.pop()
            _surround(function, contexts)
        if function is not None:
            _PropertyReads(function, paths).visit(tree)
    return kept


def _find(tree: ast.Module, name: str, line: int) -> ast.FunctionDef | None:
    found = (node for node in ast.walk(tree) if isinstance(node, _Function) and node.name == name)
    return next((each for each in found if has_line(each, line)), None)


def has_line(node: ast.stmt, line: int) -> bool:
    """Whether a line of the script belongs to a statement."""
    return node.lineno <= line <= (node.end_lineno or line)


def _read_path(node: ast.expr, paths: Mapping[str, str]) -> str:
    """The whole path of a decorator, or of what makes it."""
    called = node.func if isinstance(node, ast.Call) else node
    first, dot, rest = ast.unparse(called).partition(".")
    return paths.get(first, first) + dot + rest


def _find_wrapper(
    decorator: ast.expr, makers: Mapping[str, ast.FunctionDef], outer: Sequence[tuple[str, int]]
) -> ast.FunctionDef | None:
    """The function in a decorator of the script that was called in the place of the decorated one:
    the outer frame is its.
    """
    maker = makers.get(_read_path(decorator, {}))
    for name, line in outer:
        for node in ast.walk(maker) if maker is not None else ():
            if isinstance(node, _Function) and node is not maker:
                if node.name == name and has_line(node, line):
                    return node
    return None


def _list_contexts(
    wrapper: ast.FunctionDef, line: int, makers: Collection[str]
) -> list[ast.withitem]:
    """The contexts in which a wrapper makes its call, but for those of its own values."""
    found = [
        item
        for node in walk_scope(wrapper.body)
        if isinstance(node, ast.With) and any(has_line(each, line) for each in node.body)
        for item in node.items
    ]
    return [item for item in found if item.optional_vars is None and _is_public(item, makers)]


def _is_public(item: ast.withitem, makers: Collection[str]) -> bool:
    names = {node.id for node in ast.walk(item) if isinstance(node, ast.Name)}
    return names <= {*makers, *KNOWN_MODULES, "torch"}


def _explain(
    decorator: ast.expr, makers: Mapping[str, ast.FunctionDef], paths: Mapping[str, str]
) -> list[ast.withitem] | None:
    """The contexts that a decorator is; None where that is not known."""
    path = _read_path(decorator, paths)
    maker = makers.get(path)
    if path in _CONTEXTS or maker is not None and _makes_context(maker, paths):
        is_made = isinstance(decorator, ast.Call)
        return [ast.withitem(decorator if is_made else ast.Call(decorator, [], []))]
    return [] if path in _IDLE else None


def _makes_context(maker: ast.FunctionDef, paths: Mapping[str, str]) -> bool:
    own = [_read_path(each, paths) for each in maker.decorator_list]
    return own == ["contextlib.contextmanager"]


def _is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk_scope(function.body))


def _surround(function: ast.FunctionDef, contexts: Sequence[ast.withitem]) -> None:
    """Puts the statements of a function into a `with`."""
    if not contexts:
        return
    made = ast.With(list(contexts), function.body)
    ast.copy_location(made, function.body[0])
    made.end_lineno = function.body[-1].end_lineno
    function.body = [ast.fix_missing_locations(made)]


class _PropertyReads(ast.NodeTransformer):
    """Calls where a property is read, which becomes a method."""

    def __init__(self, function: ast.FunctionDef, paths: Mapping[str, str]) -> None:
        self.name = ""
        own = [_read_path(each, paths) for each in function.decorator_list]
        if own in (["property"], ["functools.cached_property"]):
            self.name = function.name
            function.decorator_list = []

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != self.name or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(node, [], []), node)

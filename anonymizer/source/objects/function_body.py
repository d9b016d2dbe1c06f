"""A private function's body in public words: each name is resolved to what it means, and only that
is written.

Three answers exist for a name: it is bound here (renamed), it leads to a gathered value (its public
expression), or it is Python's own (kept). An attribute is kept if it belongs to torch or Python and
torch knows the word; on a private object it is renamed whatever it is called.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from anonymizer.source.symbols.naming_policy import NamingPolicy
from anonymizer.source.symbols.symbol_table import (
    FunctionNode,
    MethodOwner,
    find_called,
    list_parameters,
)
from anonymizer.source.symbols.types import UNKNOWN, is_private
from collectors.protocol.program_source import Reference

_BUILTINS = frozenset(dir(builtins)) | {"__class__"}
_ATTRIBUTE_CALLS = {"getattr", "setattr", "hasattr", "delattr"}
#: Methods of an `autograd.Function` that are given its context first.
_TAKE_CONTEXT = ("forward", "backward", "jvp", "setup_context")
#: Decorators that say how a class binds a method; a gathered class has them in its records.
_BINDING = ("staticmethod", "classmethod", "property")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)
#: The letters that a format specification of Python's may end in.
_FORMATS = frozenset("bcdeEfFgGnosxX%")
# Keywords that torch's and Python's functions take; torch's other names come with the vocabulary.
_KEYWORDS = frozenset(
    """dim dtype device keepdim requires_grad size end sep file key reverse strict start""".split()
)
# What makes keys or attributes of any keyword.
_OF_KEYS = frozenset("""dict types.SimpleNamespace collections.Counter collections.OrderedDict
    collections.defaultdict""".split())


class Rewriter(ast.NodeTransformer):
    """Rewrites one function.

    `value(ref, name, stored)` gives the public expression of a gathered value.
    """

    def __init__(
        self,
        key: str,
        decisions: NamingPolicy,
        value: Callable[[Reference, str, bool], ast.expr],
        problems: list[str],
    ) -> None:
        self.key = key
        self.decisions = decisions
        self.names = decisions.names
        self.types = decisions.types
        self.value = value
        self.problems = problems
        record = decisions.symbols.get_function(key)
        self.refs, self.chains = record["refs"], record["chains"]
        self.partials = decisions.symbols.list_partials(key)
        self.scopes: list[set[str]] = []
        self.fixed: dict[str, str] = {}
        # What the class binds in whose body the rewriter is.
        self.members: frozenset[str] = frozenset()

    def rewrite(
        self, name: str, owner: MethodOwner | None
    ) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """The public definition of the function.

        Args:
            name: its public name.
            owner: what it is a method of; None: of nothing.
        """
        tree = self.decisions.symbols.trees[self.key]
        decorators = self._rewrite_decorators(tree)
        if owner is not None:
            self._fix_first_parameter(tree, owner)
        made = copy.copy(tree)
        made.args = copy.copy(tree.args)
        self._set_defaults(made.args)
        made.name = name
        made.decorator_list = decorators
        made.returns = None
        self.scopes.append(_find_bound_names(tree, self.refs))
        made.args = self._rewrite_arguments(made.args)
        made.body = self._rewrite_body(tree.body)
        self.scopes.pop()
        return made

    def _fix_first_parameter(self, tree: Any, owner: MethodOwner) -> None:
        names = list_parameters(tree)
        if not names:
            return
        made = self.decisions.symbols.get_class(owner.key)
        if owner.kind == "static":
            # a class that sets up its context apart gives none to its forward
            takes_context = owner.name != "forward" or "setup_context" not in made["methods"]
            if made["function"] and owner.name in _TAKE_CONTEXT and takes_context:
                self.fixed[names[0].arg] = "ctx"
            return
        is_of_class = owner.kind == "class" or owner.name == "__new__"
        self.fixed[names[0].arg] = "cls" if is_of_class else "self"

    def _rewrite_decorators(self, node: FunctionNode | ast.ClassDef) -> list[ast.expr]:
        made = (self._rewrite_decorator(each) for each in node.decorator_list)
        return [each for each in made if each is not None]

    def _rewrite_decorator(self, node: ast.expr) -> ast.expr | None:
        called = node.func if isinstance(node, ast.Call) else node
        if self.members and isinstance(node, ast.Name) and node.id in _BINDING:
            return ast.Name(node.id, node.ctx)
        dotted = ast.unparse(called)
        chain = self.chains.get(dotted) or self.refs.get(dotted)
        if chain is None or chain["kind"] not in ("torch", "stdlib") or chain["name"] in _DROPPED:
            return None
        self.scopes.append(set())
        made = self.visit(copy.deepcopy(node))
        self.scopes.pop()
        return made if isinstance(made, ast.expr) else None

    def _set_defaults(self, given: ast.arguments) -> None:
        """Default values are those of the live function, not the text of the signature."""
        record = self.decisions.symbols.get_function(self.key)
        given.defaults = [self.value(each, "", False) for each in record["defaults"]]
        kept = record["kwdefaults"]
        given.kw_defaults = [
            self.value(kept[each.arg], "", False) if each.arg in kept else None
            for each in given.kwonlyargs
        ]

    def _rewrite_arguments(self, given: ast.arguments) -> ast.arguments:
        made = copy.copy(given)
        for field in ("posonlyargs", "args", "kwonlyargs"):
            setattr(
                made,
                field,
                [ast.arg(self._name_local(each.arg, "arg")) for each in getattr(given, field)],
            )
        made.vararg = ast.arg(self._name_local(given.vararg.arg, "args")) if given.vararg else None
        made.kwarg = ast.arg(self._name_local(given.kwarg.arg, "kwargs")) if given.kwarg else None
        return made

    def _name_local(self, name: str, prefix: str) -> str:
        if name in self.members:
            is_known = name in _TAKE_CONTEXT
            return name if is_known else self.decisions.name_attribute(name, UNKNOWN)
        return self.fixed.get(name) or self.names.name_variable(name, prefix)

    def _rewrite_body(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            result = self.visit(statement)
            made += result if isinstance(result, list) else [result] if result else []
        return made or [ast.Pass()]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A changed copy; lists of statements never end up empty.

        A word that syntax has by itself is left to the method that knows this kind of syntax.
        """
        made = copy.copy(node)
        for field, old in ast.iter_fields(node):
            if _has_word(old) and not isinstance(node, _RENAMED):
                self.problems.append(f"syntax of the kind {type(node).__name__}")
            if isinstance(old, list):
                if old and isinstance(old[0], ast.stmt):
                    setattr(made, field, self._rewrite_body(old))
                else:
                    new = [self.visit(each) if isinstance(each, ast.AST) else each for each in old]
                    setattr(made, field, [each for each in new if each is not None])
            elif isinstance(old, ast.AST):
                setattr(made, field, self.visit(old))
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.members or any(node.id in scope for scope in self.scopes):
            return ast.Name(self._name_local(node.id, "value"), node.ctx)
        if node.id in self.refs:
            stored = node.id in self.decisions.assigned
            made = copy.deepcopy(self.value(self.refs[node.id], node.id, stored))
            if isinstance(made, ast.Name):
                made.ctx = node.ctx
            return made
        if node.id in _BUILTINS:
            return ast.Name(node.id, node.ctx)
        if not self.names.is_public_dunder(node.id):
            self.problems.append("a name that leads nowhere")
        return ast.Name(self.names.name_variable(node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        chain = self._find_chain(node)
        if chain is not None:
            return copy.deepcopy(self.value(chain, "", False))
        kind = self.types.receivers.get(id(node), UNKNOWN)
        return ast.Attribute(
            self.visit(node.value), self.decisions.name_attribute(node.attr, kind), node.ctx
        )

    def _find_chain(self, node: ast.Attribute) -> Any:
        dotted = ast.unparse(node)
        root = dotted.split(".")[0]
        if root in self.members or any(root in scope for scope in self.scopes):
            return None
        return self.chains.get(dotted)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        plain = node.func.id if isinstance(node.func, ast.Name) else ""
        args: list[ast.expr] = []
        for index, each in enumerate(node.args):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                named = plain in _ATTRIBUTE_CALLS and index == 1
                args.append(
                    self._rewrite_text(each.value, named, ast.unparse(node.func).endswith("einsum"))
                )
            else:
                args.append(self.visit(each))
        called = find_called(node, self.partials)
        keywords = [
            ast.keyword(self._name_keyword(each.arg, called), self.visit(each.value))
            for each in node.keywords
        ]
        return ast.Call(self.visit(node.func), args, keywords)

    def _rewrite_text(self, value: str, attribute: bool, einsum: bool = False) -> ast.Constant:
        if attribute and value in self.decisions.private:
            return ast.Constant(self.decisions.name_state(value))
        if attribute and value in self.names.vocabulary:
            return ast.Constant(value)
        return ast.Constant(self.names.rewrite_text(value, einsum))

    def _name_keyword(self, name: str | None, called: ast.expr) -> str | None:
        if name is None:
            return None
        dotted = ast.unparse(called)
        chain = self.chains.get(dotted) or self.refs.get(dotted)
        public = ""
        if chain is not None and chain["kind"] in ("torch", "stdlib", "builtin"):
            public = chain["name"]
        makes_keys = (public or dotted) in _OF_KEYS
        is_own = is_private(self.types.callees.get(id(called), UNKNOWN))
        # what a dict is handed on to is not known: a function of the program may take the word
        if is_own or makes_keys and name in self.names.parameters:
            return self.names.name_variable(name, "arg")
        if name in self.names.vocabulary or name in _KEYWORDS:
            return name
        if makes_keys:
            return self.names.rewrite_text(name)
        if public:
            return name
        return self.names.name_variable(name, "arg")

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return (
            self._rewrite_text(node.value, False)
            if isinstance(node.value, str)
            else _build_constant(node.value)
        )

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        values: list[ast.expr] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                spec = _reduce_format(each.format_spec)
                values.append(ast.FormattedValue(self.visit(each.value), each.conversion, spec))
            elif isinstance(each, ast.Constant):
                values.append(ast.Constant(self.names.rewrite_text(str(each.value))))
        return ast.JoinedStr(values)

    def _import(self, node: ast.AST) -> None:
        return None

    visit_Import = visit_ImportFrom = _import

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        if node.value is None:
            return None
        return ast.Assign([self.visit(node.target)], self.visit(node.value), lineno=1)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> list[ast.stmt]:
        """What comes from outside of the function is a global; the rest is a local around it."""
        inner = [each for each in node.names if any(each in scope for scope in self.scopes)]
        outer = [each for each in node.names if each not in inner and each in self.refs]
        values = [self.value(self.refs[each], each, True) for each in outer]
        names = [each.id for each in values if isinstance(each, ast.Name)]
        local = [self._name_local(each, "value") for each in inner]
        return [
            *([ast.Global(names)] if names else ()),
            *([ast.Nonlocal(local)] if local else ()),
        ]

    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        made = self.generic_visit(node)
        assert isinstance(made, ast.ExceptHandler)
        made.name = self._name_local(node.name, "value") if node.name else None
        return made

    def visit_MatchAs(self, node: Any) -> ast.AST:
        made = self.generic_visit(node)
        field = "rest" if isinstance(node, ast.MatchMapping) else "name"
        bound = getattr(node, field)
        setattr(made, field, self._name_local(bound, "value") if bound else None)
        return made

    visit_MatchStar = visit_MatchMapping = visit_MatchAs

    def visit_MatchClass(self, node: Any) -> ast.AST:
        made: Any = self.generic_visit(node)
        made.kwd_attrs = [self.decisions.name_attribute(each, UNKNOWN) for each in node.kwd_attrs]
        return made  # type: ignore[no-any-return]

    def _rewrite_function(self, node: Any) -> ast.AST:
        made = copy.copy(node)
        made.name = self._name_local(node.name, "helper")
        made.decorator_list = self._rewrite_decorators(node)
        made.returns = None
        made.type_params = []
        self._visit_nested(made, node)
        made.body = self._visit_in_scope(node, lambda: self._rewrite_body(node.body))
        return made  # type: ignore[no-any-return]

    visit_FunctionDef = visit_AsyncFunctionDef = _rewrite_function

    def _visit_nested(self, made: Any, node: Any) -> None:
        arguments = copy.copy(node.args)
        arguments.defaults = [self.visit(each) for each in node.args.defaults]
        arguments.kw_defaults = [
            self.visit(each) if each is not None else None for each in node.args.kw_defaults
        ]
        made.args = self._visit_in_scope(node, lambda: self._rewrite_arguments(arguments))

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        made = copy.copy(node)
        self._visit_nested(made, node)
        made.body = self._visit_in_scope(node, lambda: self.visit(node.body))
        return made

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        made = ast.ClassDef(
            name=self._name_local(node.name, "Thing"),
            bases=[self.visit(each) for each in node.bases],
            keywords=[],
            body=[],
            decorator_list=self._rewrite_decorators(node),
        )
        outer, self.members = self.members, frozenset(_find_bound_names(node, self.refs))
        made.body = self._rewrite_body(node.body)
        self.members = outer
        return made

    def _rewrite_comprehension(self, node: Any) -> Any:
        return self._visit_in_scope(node, lambda: self.generic_visit(node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _rewrite_comprehension

    def _visit_in_scope(self, node: ast.AST, then: Callable[[], Any]) -> Any:
        """What `then` makes in the scope of a node. A function does not see what a class around it
        binds; of a comprehension this is true but for what it goes through first.
        """
        bound = _find_bound_names(node, self.refs)
        self.scopes.append(bound)
        outer = self.members
        self.members = outer - bound if isinstance(node, _COMPREHENSIONS) else frozenset()
        try:
            return then()
        finally:
            self.members = outer
            self.scopes.pop()


#: Kinds of syntax with a word of their own, which has a public one in its place.
_RENAMED = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.MatchClass)
_DROPPED = {
    "torch.compile",
    "torch.library.custom_op",
    "torch.library.impl",
    "torch.library.impl_abstract",
    "torch.library.register_fake",
    "torch._dynamo.optimize",
    "torch._dynamo.eval_frame.optimize",
    "functools.wraps",
    "dataclasses.dataclass",
}


def _has_word(field: object) -> bool:
    return any(isinstance(each, str) for each in (field if isinstance(field, list) else [field]))


def _build_constant(value: Any) -> ast.expr:
    return ast.Constant(b"" if isinstance(value, bytes) else value)


def _find_bound_names(scope: ast.AST, refs: Collection[str]) -> set[str]:
    """Names bound directly in a scope; local imports that were gathered as values do not count."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        found |= {each.arg for each in list_parameters(scope)}
    for node in _walk_scope(scope):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store() | ast.Del()):
                found.add(node.id)
            case ast.Global() | ast.Nonlocal():
                elsewhere.update(node.names)
            case ast.alias():
                found.update({node.asname or node.name.split(".")[0]} - set(refs))
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                found.add(name)
        if isinstance(node, _COMPREHENSIONS) and not isinstance(scope, _COMPREHENSIONS):
            found |= _find_assigned_inside(node)
    return found - elsewhere


def _walk_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope; of those in it that are scopes themselves not what is inside."""
    left = list(ast.iter_child_nodes(scope))
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, _SCOPES):
            left += ast.iter_child_nodes(node)


def _find_assigned_inside(comprehension: ast.AST) -> set[str]:
    """What `:=` in a comprehension binds, in the scope around it."""
    return {node.target.id for node in ast.walk(comprehension) if isinstance(node, ast.NamedExpr)}


def _reduce_format(spec: ast.expr | None) -> ast.JoinedStr | None:
    """The letter of a format such as `>10.3f`, which an object may not know, and nothing else."""
    last = spec.values[-1] if isinstance(spec, ast.JoinedStr) and spec.values else None
    kind = str(last.value)[-1:] if isinstance(last, ast.Constant) else ""
    return ast.JoinedStr([ast.Constant(kind)]) if kind in _FORMATS else None

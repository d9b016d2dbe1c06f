"""Whose object is this? Enough type inference to tell `layer.weight` of a stock layer from a private attribute.

The live objects are known, so `self.a.b` is looked up rather than guessed; calls between gathered functions carry
types along. A type is a set of atoms: ("pub",) for everything of torch's and Python's, ("inst", id), ("obj", class
id), ("cls", id), ("fn", id), ("meth", function id, owner atom), ("nested", function id, number) and ("seq",
element atoms). The empty set means unknown.
"""

from __future__ import annotations

import ast
from typing import Any

from anonymizer.source_world import World, parameters

Atom = tuple[Any, ...]
Type = frozenset[Atom]
PUBLIC: Type = frozenset({("pub",)})
UNKNOWN: Type = frozenset()
_ROUNDS = 8
_SEQUENCES = {"zip", "enumerate", "list", "tuple", "reversed", "sorted", "iter", "set", "map", "filter"}
_DYNAMIC = {"getattr", "vars", "eval", "next", "max", "min"}


def elements(kind: Type) -> Type:
    """What iterating or indexing gives."""
    found: set[Atom] = set()
    for atom in kind:
        if atom[0] == "seq":
            found |= atom[1]
        elif atom[0] == "pub":
            found.add(atom)
    return frozenset(found)


def is_private(kind: Type) -> bool:
    """Whether a call of it runs gathered code."""
    return any(atom[0] in ("fn", "meth", "inst", "obj", "cls", "nested") for atom in kind)


class Types:
    """Runs to a fixed point over all functions; then `receivers` and `callees` hold the answers by node id."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.owners = world.owners()
        self.env: dict[tuple[str, str], Type] = {}
        self.returns: dict[Any, Type] = {}
        self.nested: dict[tuple[str, int], ast.AST] = {}
        self.receivers: dict[int, Type] = {}
        self.callees: dict[int, Type] = {}
        self.changed = True
        self._seed()
        for _ in range(_ROUNDS):
            if not self.changed:
                break
            self.changed = False
            for key in world.trees:
                _Walk(self, key).run()

    def _seed(self) -> None:
        entry = self.of(self.world.gathered["entry"])
        given = [self.of(each) for each in self.world.gathered["args"]]
        named = {name: self.of(each) for name, each in self.world.gathered["kwargs"].items()}
        self.call(entry, given, named)
        backend = self.world.gathered.get("backend")
        if backend:
            self.call(self.of(backend), [PUBLIC, PUBLIC], {})
        for key, tree in self.world.trees.items():
            record = self.world.function(key)
            names = [*tree.args.posonlyargs, *tree.args.args]
            for name, default in zip(reversed(names), reversed(record["defaults"])):
                self.bind((key, name.arg), self.of(default))
            for name_, default in record["kwdefaults"].items():
                self.bind((key, name_), self.of(default))
            if key in self.owners:
                self._own(key, tree)

    def _own(self, key: str, tree: Any) -> None:
        owner, name, kind = self.owners[key]
        names = parameters(tree)
        if not names or kind == "static":
            if self.world.cls(owner)["function"]:
                for each in names:
                    self.bind((key, each.arg), PUBLIC)
            return
        if kind == "class" or name in ("__new__", "__init_subclass__"):
            self.bind((key, names[0].arg), frozenset({("cls", owner)}))
            return
        live = frozenset(("inst", each) for each in self.world.instances_of(owner))
        self.bind((key, names[0].arg), live or frozenset({("obj", owner)}))

    def bind(self, place: tuple[str, str], kind: Type) -> None:
        """Joins a type into a variable."""
        old = self.env.get(place, UNKNOWN)
        if not kind <= old:
            self.env[place] = old | kind
            self.changed = True

    def of(self, ref: Any, depth: int = 0) -> Type:
        """The type of a gathered value."""
        kind = ref["kind"] if ref is not None else "opaque"
        if kind in ("function", "class"):
            return frozenset({("fn" if kind == "function" else "cls", ref["id"])})
        if kind in ("list", "tuple", "set", "dict"):
            items = [each[1] for each in ref["items"]] if kind == "dict" else ref["items"]
            return self._sequence(items, depth)
        if kind == "instance":
            record = self.world.instance(ref["id"])
            if record["class"]["kind"] == "class":
                return frozenset({("inst", ref["id"])})
            if "items" in record:
                return self._sequence([each[1] for each in record["items"]], depth) | PUBLIC
            return PUBLIC if record["class"]["kind"] == "torch" else UNKNOWN
        if kind == "member":
            return frozenset({("obj", ref["class"]["id"])}) if "id" in ref["class"] else UNKNOWN
        if kind == "method":
            return self.attribute(self.of(ref["owner"]), ref["name"])
        if kind == "partial":
            return self.of(ref["function"])
        return UNKNOWN if kind == "opaque" else PUBLIC

    def _sequence(self, items: list[Any], depth: int) -> Type:
        if depth > 6:
            return UNKNOWN
        found: set[Atom] = set()
        for each in items:
            found |= self.of(each, depth + 1)
        return frozenset({("seq", frozenset(found))})

    def attribute(self, receiver: Type, name: str) -> Type:
        """The type of `receiver.name`."""
        found: set[Atom] = set()
        for atom in receiver:
            found |= self._attribute(atom, name)
        return frozenset(found)

    def _attribute(self, atom: Atom, name: str) -> Type:
        if atom[0] in ("pub", "seq"):
            return PUBLIC
        if atom[0] not in ("inst", "obj", "cls"):
            return UNKNOWN
        if atom[0] == "inst":
            record = self.world.instance(atom[1])
            if name in record["state"]:
                return self.of(record["state"][name])
            key = record["class"]["id"]
        else:
            key = atom[1]
        method = self.world.method(key, name)
        if method is not None:
            target = method["function"]
            if target["kind"] != "function":
                return UNKNOWN
            if method["method"] in ("property", "cached_property"):
                return self.returns.get(target["id"], UNKNOWN)
            bound = method["method"] != "static" and (atom[0] != "cls" or method["method"] == "class")
            return frozenset({("meth", target["id"], atom) if bound else ("fn", target["id"])})
        value = self.world.attribute(key, name)
        if value is not None:
            return self.of(value)
        return self.env.get(("attr", f"{key}.{name}"), UNKNOWN if name in self._assigned(key) else PUBLIC)

    def _assigned(self, key: str) -> set[str]:
        return {field[0] for each in self.world.lineage(key) for field in self.world.cls(each)["fields"]}

    def call(self, callee: Type, args: list[Type], kwargs: dict[str, Type]) -> Type:
        """Binds arguments and gives the result."""
        found: set[Atom] = set()
        for atom in callee:
            found |= self._call(atom, args, kwargs)
        return frozenset(found)

    def _call(self, atom: Atom, args: list[Type], kwargs: dict[str, Type]) -> Type:
        if atom[0] in ("pub", "seq"):
            return PUBLIC
        if atom[0] == "fn":
            return self._enter(atom[1], atom[1], self.world.trees[atom[1]], args, kwargs)
        if atom[0] == "meth":
            return self._enter(atom[1], atom[1], self.world.trees[atom[1]], [frozenset({atom[2]}), *args], kwargs)
        if atom[0] == "nested":
            return self._enter((atom[1], atom[2]), atom[1], self.nested[atom[1], atom[2]], args, kwargs)
        if atom[0] in ("inst", "obj"):
            for name in ("forward", "__call__"):
                target = self._attribute(atom, name)
                if target != PUBLIC and target:
                    return self.call(target, args, kwargs)
            return PUBLIC
        return self._construct(atom[1], args, kwargs)

    def _construct(self, key: str, args: list[Type], kwargs: dict[str, Type]) -> Type:
        start = self.world.method(key, "__init__")
        made: Atom = ("obj", key)
        if start is not None and start["function"]["kind"] == "function":
            self._call(("meth", start["function"]["id"], made), args, kwargs)
        return frozenset({made})

    def _enter(self, result: Any, key: str, tree: Any, args: list[Type], kwargs: dict[str, Type]) -> Type:
        names = [each.arg for each in [*tree.args.posonlyargs, *tree.args.args]]
        for index, kind in enumerate(args):
            if index < len(names):
                self.bind((key, names[index]), kind)
            elif tree.args.vararg is not None:
                self.bind((key, tree.args.vararg.arg), frozenset({("seq", kind)}))
        for name, kind in kwargs.items():
            self.bind((key, name), kind)
        return self.returns.get(result, UNKNOWN)


class _Walk(ast.NodeVisitor):
    """One pass over one function: binds names, notes receivers and callees."""

    def __init__(self, types: Types, key: str) -> None:
        self.types = types
        self.key = key
        self.refs = types.world.function(key)["refs"]
        self.chains = types.world.function(key)["chains"]
        self.result: list[Any] = [key]
        self.count = 0

    def run(self) -> None:
        tree = self.types.world.trees[self.key]
        bound = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
        self.bound = bound | {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
        for statement in tree.body:
            self.visit(statement)

    def infer(self, node: ast.AST | None) -> Type:
        """The type of an expression, noting what is met on the way."""
        if node is None:
            return PUBLIC
        handler = getattr(self, "infer_" + type(node).__name__, None)
        if handler is not None:
            found: Type = handler(node)
            return found
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.infer(child)
            elif not isinstance(child, ast.expr_context):
                self.visit(child)
        return PUBLIC

    def infer_Name(self, node: ast.Name) -> Type:
        known = self.types.env.get((self.key, node.id))
        if known is not None:
            return known
        if node.id in self.refs and node.id not in self.bound:
            return self.types.of(self.refs[node.id])
        return UNKNOWN if node.id in self.bound else PUBLIC

    def infer_Attribute(self, node: ast.Attribute) -> Type:
        receiver = self.infer(node.value)
        self.types.receivers[id(node)] = receiver
        chain = self.chains.get(ast.unparse(node))
        return self.types.of(chain) if chain is not None else self.types.attribute(receiver, node.attr)

    def infer_Call(self, node: ast.Call) -> Type:
        callee = self.infer(node.func)
        self.types.callees[id(node)] = callee
        args = [self.infer(each) for each in node.args]
        kwargs = {each.arg: self.infer(each.value) for each in node.keywords if each.arg}
        for each in node.keywords:
            if not each.arg:
                self.infer(each.value)
        if isinstance(node.func, ast.Name) and node.func.id not in self.refs | dict.fromkeys(self.bound):
            if node.func.id in _SEQUENCES:
                inner = [elements(each) for each in args]
                if node.func.id == "zip":
                    return frozenset({("seq", frozenset({("row", *inner)}))})
                if node.func.id == "enumerate":
                    return frozenset({("seq", frozenset({("row", PUBLIC, *inner[:1])}))})
                return frozenset({("seq", frozenset().union(*inner))})
            if node.func.id in _DYNAMIC:
                return UNKNOWN
        if isinstance(node.func, ast.Attribute):
            receiver = self.types.receivers.get(id(node.func), UNKNOWN)
            if node.func.attr in ("items", "values", "keys", "copy", "get", "pop") and any(a[0] == "seq" for a in receiver):
                inner_ = elements(receiver)
                if node.func.attr == "items":
                    return frozenset({("seq", frozenset({("row", PUBLIC, inner_)}))})
                return inner_ if node.func.attr in ("get", "pop") else frozenset({("seq", inner_)})
            if node.func.attr == "apply" and any(a[0] == "cls" for a in receiver):
                return PUBLIC
        return self.types.call(callee, args, kwargs)

    def infer_Subscript(self, node: ast.Subscript) -> Type:
        base = self.infer(node.value)
        self.infer(node.slice)
        return base if isinstance(node.slice, ast.Slice) else elements(base)

    def infer_IfExp(self, node: ast.IfExp) -> Type:
        self.infer(node.test)
        return self.infer(node.body) | self.infer(node.orelse)

    def infer_BoolOp(self, node: ast.BoolOp) -> Type:
        return frozenset().union(*(self.infer(each) for each in node.values))

    def infer_Starred(self, node: ast.Starred) -> Type:
        return elements(self.infer(node.value))

    def infer_NamedExpr(self, node: ast.NamedExpr) -> Type:
        kind = self.infer(node.value)
        self.assign(node.target, kind)
        return kind

    def _collection(self, nodes: list[ast.expr]) -> Type:
        return frozenset({("seq", frozenset().union(*(self.infer(each) for each in nodes)))})

    def infer_Tuple(self, node: ast.Tuple) -> Type:
        return self._collection(node.elts)

    infer_List = infer_Set = infer_Tuple

    def infer_Dict(self, node: ast.Dict) -> Type:
        for each in node.keys:
            self.infer(each)
        return self._collection(node.values)

    def _comprehension(self, node: Any) -> Type:
        for each in node.generators:
            self.assign(each.target, elements(self.infer(each.iter)))
            for test in each.ifs:
                self.infer(test)
        if isinstance(node, ast.DictComp):
            self.infer(node.key)
            return frozenset({("seq", self.infer(node.value))})
        return frozenset({("seq", self.infer(node.elt))})

    infer_ListComp = infer_SetComp = infer_GeneratorExp = infer_DictComp = _comprehension

    def infer_Lambda(self, node: ast.Lambda) -> Type:
        return self._nested(node, [ast.Return(node.body)])

    def _nested(self, node: Any, body: list[Any]) -> Type:
        place = (self.key, self.count)
        self.count += 1
        self.types.nested[place] = node
        self.result.append(place)
        for statement in body:
            self.visit(statement)
        self.result.pop()
        return frozenset({("nested", *place)})

    def assign(self, target: ast.expr, kind: Type) -> None:
        """Binds an assignment target."""
        if isinstance(target, ast.Name):
            self.types.bind((self.key, target.id), frozenset(atom for atom in kind if atom[0] != "row"))
        elif isinstance(target, ast.Starred):
            self.assign(target.value, frozenset({("seq", kind)}))
        elif isinstance(target, (ast.Tuple, ast.List)):
            rows = [atom for atom in kind if atom[0] == "row"]
            inner = elements(kind)
            for index, each in enumerate(target.elts):
                picked = frozenset().union(*(row[index + 1] for row in rows if index + 1 < len(row)))
                self.assign(each, picked | inner)
        else:
            self.infer(target)
            if isinstance(target, ast.Attribute):
                for atom in self.types.receivers.get(id(target), UNKNOWN):
                    if atom[0] == "obj":
                        self.types.bind(("attr", f"{atom[1]}.{target.attr}"), kind)

    def visit_Assign(self, node: ast.Assign) -> None:
        kind = self.infer(node.value)
        for target in node.targets:
            self.assign(target, kind)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.infer(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.infer(node.value)
        self.assign(node.target, PUBLIC)

    def visit_For(self, node: ast.For) -> None:
        self.assign(node.target, elements(self.infer(node.iter)))
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            kind = self.infer(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, kind if is_private(kind) else PUBLIC)
        for statement in node.body:
            self.visit(statement)

    def visit_Return(self, node: ast.Return) -> None:
        kind = self.infer(node.value)
        key = self.result[-1]
        if not kind <= self.types.returns.get(key, UNKNOWN):
            self.types.returns[key] = self.types.returns.get(key, UNKNOWN) | kind
            self.types.changed = True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.types.bind((self.key, node.name), self._nested(node, node.body))

    def generic_visit(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.infer(child)
            else:
                self.visit(child)

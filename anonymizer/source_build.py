"""Objects become constructor calls: a class gets the `__init__` that its live instances imply.

What all instances of a class share stands in its `__init__`; what differs becomes a parameter. So two blocks of
equal width are one class without arguments, however their author configured them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from anonymizer.names import Names
from anonymizer.source_program import STDLIB
from anonymizer.source_rewrite import Decisions, Rewriter
from anonymizer.source_tensors import tensor_expression
from anonymizer.source_types import Types
from anonymizer.source_world import World

Ref = Mapping[str, Any]


def expression(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


class Builder:
    """Collects definitions. `statements` maps public name → definition in the order of discovery."""

    def __init__(self, world: World, names: Names, exact: bool) -> None:
        self.world = world
        self.names = names
        self.exact = exact
        self.problems: list[str] = list(world.gathered.get("problems", ()))
        names.attributes = frozenset(world.attributes())
        names.parameters = frozenset(world.parameters())
        names.private |= world.words()
        self.types = Types(world)
        self.decisions = Decisions(world, self.types, names)
        self.owners = world.owners()
        self.statements: dict[str, list[ast.stmt]] = {}
        self.public: dict[str, str] = {}
        self.fixed: dict[str, ast.expr] = {}
        self.shapes: dict[str, tuple[list[str], list[str]]] = {}
        self.building: list[str] = []

    # Names of definitions -------------------------------------------------------------------------------------

    def function_name(self, key: str) -> str:
        """The public name of a gathered function, which is defined on the way."""
        if key in self.public:
            return self.public[key]
        if key in self.owners and self.owners[key][2] == "static":
            owner, name, _ = self.owners[key]
            return f"{self.class_name(owner)}.{self.decisions.member(owner, name)}"
        return self.define_function(key, self.names.fresh("helper"))

    def define_function(self, key: str, name: str) -> str:
        """Defines a function under a public name."""
        self.public[key] = name
        self.names.tables["definitions"].setdefault(self.world.function(key)["name"], name)
        self.statements[name] = []
        made = Rewriter(key, self.decisions, self.value, self.problems).rewrite(name, self.owners.get(key))
        self.statements[name] = [made]
        return name

    def class_name(self, key: str, name: str | None = None) -> str:
        """The public name of a gathered class, which is defined on the way."""
        if key in self.public:
            return self.public[key]
        record = self.world.cls(key)
        prefix = "Block" if record["module"] else "Operation" if record["function"] else "Thing"
        name = name or self.names.fresh(prefix)
        self.public[key] = name
        self.names.tables["definitions"].setdefault(record["name"], name)
        self.statements[name] = []
        self.statements[name] = [self._class(key, name)]
        return name

    # Values ---------------------------------------------------------------------------------------------------

    def value(self, ref: Ref, place: str, stored: bool) -> ast.expr:
        """The expression for a value met in a function body; what has state becomes a global."""
        if stored or ref["kind"] in ("tensor", "instance", "list", "dict", "set", "partial", "method", "logger"):
            if place and not (ref["kind"] == "list" and self._small(ref)):
                return self._global(ref, place if stored else repr(sorted(ref.items(), key=str)))
        return self.build(ref)

    def _small(self, ref: Ref) -> bool:
        return len(ref["items"]) <= 4 and all(each["kind"] == "const" for each in ref["items"])

    def _global(self, ref: Ref, key: str) -> ast.expr:
        if key not in self.fixed:
            name = self.names.fresh("state")
            self.fixed[key] = ast.Name(name, ast.Load())
            made = self.build(ref)
            self.statements[name] = [ast.Assign([ast.Name(name, ast.Store())], made, lineno=1)]
            if ref["kind"] == "instance":
                self.statements[name] += self.ties(name, ref["id"])
        return self.fixed[key]

    def build(self, ref: Ref) -> ast.expr:
        """The constructor expression of any gathered value."""
        handler = getattr(self, "_build_" + ref["kind"], None)
        if handler is None:
            self.problems.append(ref.get("reason", ref["kind"]))
            return ast.Constant(None)
        made: ast.expr = handler(ref)
        return made

    def _build_const(self, ref: Ref) -> ast.expr:
        if ref["text"]:
            return ast.Constant(self.names.text(ref["value"]))
        if ref["value"] in ("inf", "-inf", "nan"):
            return expression(f'float("{ref["value"]}")')
        return expression("b''" if ref["value"][:1] in "b" else ref["value"])

    def _build_module(self, ref: Ref) -> ast.expr:
        return dotted(ref["name"])

    def _build_torch(self, ref: Ref) -> ast.expr:
        return dotted(ref["name"])

    def _build_stdlib(self, ref: Ref) -> ast.expr:
        if ref["name"].split(".")[0].lstrip("_") not in STDLIB:
            self.problems.append("standard module " + ref["name"].split(".")[0])
        name = ref["name"][1:] if ref["name"].startswith("_operator.") else ref["name"]
        return dotted(name)

    def _build_builtin(self, ref: Ref) -> ast.expr:
        return expression(ref["name"])

    def _build_device(self, ref: Ref) -> ast.expr:
        return expression(f'torch.device("{ref["name"]}")')

    def _build_logger(self, ref: Ref) -> ast.expr:
        return expression('logging.getLogger("text0")')

    def _build_function(self, ref: Ref) -> ast.expr:
        return expression(self.function_name(ref["id"]))

    def _build_class(self, ref: Ref) -> ast.expr:
        return ast.Name(self.class_name(ref["id"]), ast.Load())

    def _build_member(self, ref: Ref) -> ast.expr:
        return ast.Attribute(self.build(ref["class"]), self.decisions.member(ref["class"]["id"], ref["name"]), ast.Load())

    def _build_method(self, ref: Ref) -> ast.expr:
        owner = ref["owner"]
        record = self.world.instance(owner["id"]) if owner["kind"] == "instance" else None
        key = owner["id"] if record is None else record["class"].get("id", "")
        base = self.value(owner, "method", False)
        return ast.Attribute(base, self.decisions.member(key, ref["name"]) if key else ref["name"], ast.Load())

    def _build_partial(self, ref: Ref) -> ast.expr:
        words = [ast.keyword(self.names.variable(name, "arg"), self.build(each)) for name, each in ref["kwargs"].items()]
        if ref["function"]["kind"] in ("torch", "builtin", "stdlib"):
            words = [ast.keyword(name, self.build(each)) for name, each in ref["kwargs"].items()]
        args = [self.build(ref["function"]), *(self.build(each) for each in ref["args"])]
        return ast.Call(dotted("functools.partial"), args, words)

    def _build_list(self, ref: Ref) -> ast.expr:
        return ast.List([self.build(each) for each in ref["items"]], ast.Load())

    def _build_tuple(self, ref: Ref) -> ast.expr:
        return ast.Tuple([self.build(each) for each in ref["items"]], ast.Load())

    def _build_set(self, ref: Ref) -> ast.expr:
        return ast.Set([self.build(each) for each in ref["items"]]) if ref["items"] else expression("set()")

    def _build_dict(self, ref: Ref) -> ast.expr:
        return ast.Dict([self.build(each[0]) for each in ref["items"]], [self.build(each[1]) for each in ref["items"]])

    def _build_tensor(self, ref: Ref) -> ast.expr:
        return expression(tensor_expression(self.world.gathered["tensors"][ref["id"]], self.exact))

    def _build_instance(self, ref: Ref) -> ast.expr:
        record = self.world.instance(ref["id"])
        if ref["id"] in self.building:
            self.problems.append("an object that contains itself")
            return ast.Constant(None)
        self.building.append(ref["id"])
        try:
            if record["class"]["kind"] == "class":
                return self._private_instance(ref["id"], record)
            if record["class"]["kind"] == "torch":
                return self._stock(record)
            self.problems.append(record["class"].get("reason", "an object"))
            return ast.Constant(None)
        finally:
            self.building.pop()

    def _stock(self, record: Mapping[str, Any]) -> ast.expr:
        layer = dotted(record["class"]["name"])
        if "items" in record:
            named = record["class"]["name"].endswith("Dict")
            items = [(name, self.build(each)) for name, each in record["items"]]
            if named:
                keys: list[ast.expr | None] = [ast.Constant(self.names.attribute(name)) for name, _ in items]
                return ast.Call(layer, [ast.Dict(keys, [each for _, each in items])], [])
            if not record["class"]["name"].endswith("List"):
                return ast.Call(layer, [each for _, each in items], [])
            return ast.Call(layer, [_list([each for _, each in items])], [])
        args: list[ast.expr] = []
        words: list[ast.keyword] = []
        for name, each in record["stock"]["args"].items():
            if name in _POSITIONAL and not words:
                args.append(self.build(each))
            else:
                words.append(ast.keyword(name, self.build(each)))
        for name, text in record["stock"]["factory"].items():
            words.append(ast.keyword(name, expression(text if name == "dtype" else repr(text))))
        made: ast.expr = ast.Call(layer, args, words)
        return ast.Call(ast.Attribute(made, "requires_grad_", ast.Load()), [ast.Constant(False)], []) if record.get("frozen") else made

    def _private_instance(self, key: str, record: Mapping[str, Any]) -> ast.expr:
        owner = record["class"]["id"]
        name, cls = self.class_name(owner), self.world.cls(owner)
        if cls["shape"] == "namedtuple":
            return ast.Call(ast.Name(name, ast.Load()), [self.build(each) for each in record["state"].values()], [])
        if "__init__" in cls["methods"]:
            return self._bare_instance(name, record)
        if cls["shape"] == "dataclass":
            words = [ast.keyword(self.decisions.state(each), self.build(value)) for each, value in record["state"].items()]
            return ast.Call(ast.Name(name, ast.Load()), [], words)
        state = self._state(record)
        return ast.Call(ast.Name(name, ast.Load()), [expression(state[each]) for each in self.shape(owner)[1] if each in state], [])

    def _bare_instance(self, name: str, record: Mapping[str, Any]) -> ast.expr:
        """An object whose class keeps its own `__init__`, because gathered code calls it."""
        maker = self.names.fresh("make")
        lines = [f"def {maker}():", f"    made = {name}.__new__({name})"]
        if record["module"]:
            lines.append("    nn.Module.__init__(made)")
        lines += [f"    made.{self.decisions.state(each)} = {ast.unparse(self.build(value))}" for each, value in record["state"].items()]
        self.statements[maker] = [*ast.parse("\n".join([*lines, "    return made"])).body]
        return ast.Call(ast.Name(maker, ast.Load()), [], [])

    # Classes --------------------------------------------------------------------------------------------------

    def _state(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Private attribute → text of its value; numbered children of a container subclass are `*items`."""
        found = {name: ast.unparse(self.build(each)) for name, each in record["state"].items()}
        for name in record.get("buffers", ()):
            if name in found and record["state"][name]["kind"] == "tensor":
                found[name] = found[name]
        if record.get("items"):
            found["*items"] = ", ".join(ast.unparse(self.build(each)) for _, each in record["items"])
            found["*items"] = f"({found['*items']},)"
        return found

    def shape(self, key: str) -> tuple[list[str], list[str]]:
        """Of a class: attributes equal in all instances, and attributes to be given as arguments."""
        if key not in self.shapes:
            live = [
                record
                for record in self.world.gathered["instances"].values()
                if record["class"]["kind"] == "class" and record["class"]["id"] == key
            ]
            self.shapes[key] = ([], [])
            states = [self._state(record) for record in live]
            everything = list(dict.fromkeys(name for state in states for name in state))
            same = [name for name in everything if len({state.get(name) for state in states}) == 1]
            self.shapes[key] = (same, [name for name in everything if name not in same])
        return self.shapes[key]

    def _class(self, key: str, name: str) -> ast.ClassDef:
        record = self.world.cls(key)
        bases = [self.build(base) for base in record["bases"]]
        body: list[ast.stmt] = []
        decorators: list[ast.expr] = []
        if record["shape"] in ("dataclass", "namedtuple"):
            body += self._fields(key, record)
            if record["shape"] == "dataclass":
                decorators = [expression("dataclasses.dataclass" + ("(frozen=True)" if record.get("frozen") else ""))]
            else:
                bases = [dotted("typing.NamedTuple")]
        elif record["shape"] == "enum":
            for field, value in record["fields"]:
                body.append(_assign(self.decisions.member(key, field), self.build(value)))
        for field, value in record["attributes"].items():
            body.append(_assign(self.decisions.member(key, field), self.build(value)))
        if record["slots"]:
            words = [ast.Constant(self.decisions.state(each)) for each in record["slots"]]
            body.insert(0, _assign("__slots__", ast.Tuple(list(words), ast.Load())))
        if "__init__" not in record["methods"] and record["shape"] == "class":
            body += self._constructor(key, record)
        body += [made for each, method in record["methods"].items() if (made := self._method(key, each, method))]
        made = ast.ClassDef(name, bases, [], body or [ast.Pass()], decorators)
        if "type_params" in ast.ClassDef._fields:
            made.type_params = []  # type: ignore[attr-defined]
        return made

    def _fields(self, key: str, record: Mapping[str, Any]) -> list[ast.stmt]:
        live = [each["state"] for each in self.world.gathered["instances"].values() if each["class"].get("id") == key]
        needed = {name for state in live for name in state}
        whole = record["init_seen"] or record["shape"] == "namedtuple"
        made: list[ast.stmt] = []
        for name, default in record["fields"]:
            if whole or name in needed:
                value = self.build(default) if default is not None else None
                target = ast.Name(self.decisions.state(name), ast.Store())
                made.append(ast.AnnAssign(target, ast.Name("object", ast.Load()), value, 1))
        return made

    def _constructor(self, key: str, record: Mapping[str, Any]) -> list[ast.stmt]:
        same, given = self.shape(key)
        if not same and not given:
            return []
        live = next(
            each for each in self.world.gathered["instances"].values() if each["class"].get("id") == key
        )
        state = self._state(live)
        parameters = {name: self.decisions.state(name) if name[0] != "*" else "items" for name in given}
        lines = [f"def __init__({', '.join(['self', *parameters.values()])}):"]
        if record["module"]:
            lines.append("    " + self._parent(record, live, state, parameters))
        values = {name: parameters.get(name, state.get(name, "None")) for name in [*same, *given] if name[0] != "*"}
        for name, text in values.items():
            public = self.decisions.state(name)
            if name in live.get("buffers", ()):
                lines.append(f"    self.register_buffer({public!r}, {text})")
            else:
                lines.append(f"    self.{public} = {text}")
        if len(lines) == 1:
            return []
        made = ast.parse("\n".join(lines)).body
        if self.public.get(key) == "Repro":
            made[0].body += self.ties("self", next(i for i, r in self.world.gathered["instances"].items() if r is live))  # type: ignore[attr-defined]
        return list(made)

    def _parent(self, record: Mapping[str, Any], live: Any, state: Mapping[str, str], given: Mapping[str, str]) -> str:
        if live.get("stock"):
            words = [f"{name}={ast.unparse(self.build(each))}" for name, each in live["stock"]["args"].items()]
            return f"super().__init__({', '.join(words)})"
        if any(base["kind"] == "class" for base in record["bases"]):
            return "nn.Module.__init__(self)"
        if "*items" not in state:
            return "super().__init__()"
        items = given.get("*items", state["*items"])
        listed = any(base.get("name", "").endswith("List") for base in record["bases"])
        return f"super().__init__({'list' if listed else '*'}({items}))" if listed else f"super().__init__(*{items})"

    def _method(self, key: str, name: str, method: Mapping[str, Any]) -> ast.stmt | None:
        target = method["function"]
        if target["kind"] != "function":
            self.problems.append(target.get("reason", "a method"))
            return None
        rewriter = Rewriter(target["id"], self.decisions, self.value, self.problems)
        made = rewriter.rewrite(self.decisions.member(key, name), (key, name, method["method"]))
        decorator = _DECORATORS.get(method["method"])
        kept = [each for each in made.decorator_list if ast.unparse(each) not in _DECORATORS.values()]
        made.decorator_list = ([expression(decorator)] if decorator else []) + kept
        return made

    # Shared parts ---------------------------------------------------------------------------------------------

    def ties(self, root: str, key: str) -> list[ast.stmt]:
        """Assignments that make shared parameters and sub-modules shared again."""
        first: dict[str, str] = {}
        lines: list[str] = []

        def visit(path: str, ref: Ref, depth: int) -> None:
            shared = ref["kind"] in ("tensor", "instance")
            if shared and ref["id"] in first and depth:
                lines.append(f"{path} = {first[ref['id']]}")
                return
            if shared:
                first[ref["id"]] = path
            if ref["kind"] != "instance" or depth > 12:
                return
            record = self.world.instance(ref["id"])
            for name, tensor in record.get("parameters", {}).items():
                visit(f"{path}.{name}", {"kind": "tensor", "id": tensor}, depth + 1)
            for name, each in record.get("items", ()):
                inner = f"[{name}]" if name.isdecimal() else f"[{self.names.attribute(name)!r}]"
                visit(path + inner, each, depth + 1)
            for name, each in record["state"].items():
                if record["module"]:
                    visit(f"{path}.{self.decisions.state(name)}", each, depth + 1)

        visit(root, {"kind": "instance", "id": key}, 0)
        return list(ast.parse("\n".join(lines)).body)


_DECORATORS = {
    "static": "staticmethod",
    "class": "classmethod",
    "property": "property",
    "cached_property": "functools.cached_property",
}
_POSITIONAL = frozenset(
    """
    in_features out_features in_channels out_channels kernel_size num_embeddings embedding_dim normalized_shape
    num_groups num_channels num_features p input_size hidden_size in1_features in2_features output_size embed_dim
    num_heads
    """.split()
)


def dotted(name: str) -> ast.expr:
    """A public dotted name, with the usual short forms `nn.` and `F.`."""
    if name.startswith("torch.nn.functional"):
        name = "F" + name[len("torch.nn.functional") :]
    elif name == "torch.nn" or name.startswith("torch.nn."):
        name = name[len("torch.") :] if not name.startswith("torch.nn.attention") and not name.startswith("torch.nn.utils") else name
    return expression(name)


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=1)


def _list(items: list[ast.expr]) -> ast.expr:
    """`[Block() for _ in range(4)]` for equal items, else the list itself."""
    texts = {ast.unparse(each) for each in items}
    if len(items) > 1 and len(texts) == 1:
        return expression(f"[{texts.pop()} for _ in range({len(items)})]")
    return ast.List(items, ast.Load())

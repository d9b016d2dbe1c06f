"""Values become expressions: numbers and names inline, what has state as a global or a constructor
call.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

from anonymizer.source.functions import Rewriter
from anonymizer.source.inference import infer
from anonymizer.source.names import PublicNames
from anonymizer.source.naming_policy import NamingPolicy
from anonymizer.source.operators import SETUP, operator_statements
from anonymizer.source.program import STDLIB
from anonymizer.source.symbol_table import FunctionNode, SymbolTable, parameters
from anonymizer.source.tensors import tensor_expression

Ref = Mapping[str, Any]
_STATEFUL = ("tensor", "instance", "list", "dict", "set", "partial", "method", "logger")


def expression(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


class ObjectTexts:
    """Collects definitions.

    `statements` maps public name → definition in the order of discovery; `roots` are the globals.

    What classes look like is left to `anonymizer.source.construct.Builder`.
    """

    def __init__(self, symbols: SymbolTable, names: PublicNames, exact: bool) -> None:
        self.symbols = symbols
        self.names = names
        self.exact = exact
        self.problems: list[str] = list(symbols.gathered.get("problems", ()))
        # a `__getattr__` compares with text what nobody has ever stored
        written = symbols.read() - names.vocabulary
        names.attributes = frozenset(symbols.attributes() | symbols.keys() | written)
        names.parameters = frozenset(symbols.parameters())
        names.private |= symbols.words()
        self.types = infer(symbols)
        self.decisions = NamingPolicy(symbols, self.types, names)
        self.owners = symbols.owners()
        self.statements: dict[str, list[ast.stmt]] = {}
        self.public: dict[str, str] = {}
        self.fixed: dict[str, ast.expr] = {}
        self.roots: dict[str, Ref] = {}
        self.shapes: dict[str, tuple[list[str], list[str]]] = {}
        self.building: list[str] = []
        self.operators: dict[str, str] = {}

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
        self.names.tables["definitions"].setdefault(self.symbols.function(key)["name"], name)
        self.statements[name] = []
        made = Rewriter(key, self.decisions, self.value, self.problems).rewrite(
            name, self.owners.get(key)
        )
        self.statements[name] = [made]
        return name

    def class_name(self, key: str, name: str | None = None) -> str:
        """The public name of a gathered class, which is defined on the way."""
        if key in self.public:
            return self.public[key]
        record = self.symbols.cls(key)
        name = name or self.names.fresh(self._prefix(record))
        self.public[key] = name
        self.names.tables["definitions"].setdefault(record["name"], name)
        self.statements[name] = []
        self.statements[name] = [self._class(key, name)]
        return name

    def _prefix(self, record: Mapping[str, Any]) -> str:
        """What a class is called without its own name."""
        if record["module"] or record["function"]:
            return "Block" if record["module"] else "Operation"
        return "Error" if self._raised(record) else "Thing"

    def _raised(self, record: Mapping[str, Any]) -> bool:
        """Whether a class is an exception."""
        return any(
            (
                self._raised(self.symbols.cls(base["id"]))
                if base["kind"] == "class"
                else isinstance(known := getattr(builtins, base.get("name", ""), None), type)
                and issubclass(known, BaseException)
            )
            for base in record["bases"]
        )

    def value(self, ref: Ref, place: str, stored: bool) -> ast.expr:
        """The expression for a value met in a function body; what has state becomes a global."""
        if place and (stored or self._stateful(ref)):
            return self._global(ref, place if stored else repr(sorted(ref.items(), key=str)))
        return self.build(ref)

    def _stateful(self, ref: Ref) -> bool:
        if ref["kind"] == "tuple":
            return any(self._stateful(each) for each in ref["items"])
        return ref["kind"] in _STATEFUL

    def _global(self, ref: Ref, key: str) -> ast.expr:
        if key not in self.fixed:
            name = self.names.fresh("state")
            self.fixed[key] = ast.Name(name, ast.Load())
            self.roots[name] = ref
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
        return public_dotted_name(ref["name"])

    def _build_torch(self, ref: Ref) -> ast.expr:
        return public_dotted_name(ref["name"])

    def _build_stdlib(self, ref: Ref) -> ast.expr:
        if ref["name"].split(".")[0].lstrip("_") not in STDLIB:
            self.problems.append("standard module " + ref["name"].split(".")[0])
        name = ref["name"][1:] if ref["name"].startswith("_operator.") else ref["name"]
        return public_dotted_name(name)

    def _build_builtin(self, ref: Ref) -> ast.expr:
        return expression(ref["name"])

    def _build_device(self, ref: Ref) -> ast.expr:
        return expression(f'torch.device("{ref["name"]}")')

    def _build_logger(self, ref: Ref) -> ast.expr:
        return expression('logging.getLogger("text0")')

    def _build_factory(self, ref: Ref) -> ast.expr:
        made = ast.keyword("default_factory", self.build(ref["function"]))
        return ast.Call(public_dotted_name("dataclasses.field"), [], [made])

    def _build_function(self, ref: Ref) -> ast.expr:
        return expression(self.function_name(ref["id"]))

    def _build_class(self, ref: Ref) -> ast.expr:
        return ast.Name(self.class_name(ref["id"]), ast.Load())

    def _build_member(self, ref: Ref) -> ast.expr:
        owner = self.build(ref["class"])
        if "value" in ref:
            return ast.Call(owner, [self.build(ref["value"])], [])
        return ast.Attribute(
            owner, self.decisions.member(ref["class"]["id"], ref["name"]), ast.Load()
        )

    def _build_method(self, ref: Ref) -> ast.expr:
        owner = ref["owner"]
        record = self.symbols.instance(owner["id"]) if owner["kind"] == "instance" else None
        key = owner["id"] if record is None else record["class"].get("id", "")
        base = self.value(owner, "method", False)
        return ast.Attribute(
            base, self.decisions.member(key, ref["name"]) if key else ref["name"], ast.Load()
        )

    def _build_partial(self, ref: Ref) -> ast.expr:
        words = [
            ast.keyword(self.names.variable(name, "arg"), self.build(each))
            for name, each in ref["kwargs"].items()
        ]
        if ref["function"]["kind"] in ("torch", "builtin", "stdlib"):
            words = [ast.keyword(name, self.build(each)) for name, each in ref["kwargs"].items()]
        args = [self.build(ref["function"]), *(self.build(each) for each in ref["args"])]
        return ast.Call(public_dotted_name("functools.partial"), args, words)

    def _build_operator(self, ref: Ref) -> ast.expr:
        """An operator of torch.library, registered anew under a public name."""
        if ref["function"]["kind"] != "function":
            self.problems.append("a custom operator that is no function")
            return ast.Constant(None)
        key = ref["function"]["id"]
        if key not in self.operators:
            name = self.operators[key] = self.names.fresh("operator")
            for word in SETUP if ref["setup"] else ():
                self.names.tables["variables"][word] = word
                self.names.used.add(word)
            function = self.build(ref["function"])
            given = [each.arg for each in parameters(self._definition(function))]
            self.statements[name] = operator_statements(ref, name, function, given, self.build)
        return ast.Name(self.operators[key], ast.Load())

    def _definition(self, function: ast.expr) -> FunctionNode:
        made = self.statements[ast.unparse(function)][0]
        assert isinstance(made, (ast.FunctionDef, ast.AsyncFunctionDef))
        return made

    def _build_list(self, ref: Ref) -> ast.expr:
        return ast.List([self.build(each) for each in ref["items"]], ast.Load())

    def _build_tuple(self, ref: Ref) -> ast.expr:
        return ast.Tuple([self.build(each) for each in ref["items"]], ast.Load())

    def _build_set(self, ref: Ref) -> ast.expr:
        return (
            ast.Set([self.build(each) for each in ref["items"]])
            if ref["items"]
            else expression("set()")
        )

    def _build_dict(self, ref: Ref) -> ast.expr:
        return ast.Dict(
            [self.build(each[0]) for each in ref["items"]],
            [self.build(each[1]) for each in ref["items"]],
        )

    def _build_tensor(self, ref: Ref) -> ast.expr:
        return expression(
            tensor_expression(self.symbols.gathered["tensors"][ref["id"]], self.exact)
        )

    def _build_instance(self, ref: Ref) -> ast.expr:
        record = self.symbols.instance(ref["id"])
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
        layer = public_dotted_name(record["class"]["name"])
        if "items" in record:
            named = record["class"]["name"].endswith("Dict")
            items = [(name, self.build(each)) for name, each in record["items"]]
            if named:
                keys: list[ast.expr | None] = [
                    ast.Constant(self.names.attribute(name)) for name, _ in items
                ]
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
        return (
            ast.Call(ast.Attribute(made, "requires_grad_", ast.Load()), [ast.Constant(False)], [])
            if record.get("frozen")
            else made
        )

    def _private_instance(self, key: str, record: Mapping[str, Any]) -> ast.expr:
        owner = record["class"]["id"]
        name, cls = self.class_name(owner), self.symbols.cls(owner)
        if cls["shape"] == "namedtuple":
            return ast.Call(
                ast.Name(name, ast.Load()),
                [self.build(each) for each in record["state"].values()],
                [],
            )
        if "__init__" in cls["methods"] or (cls["shape"] == "dataclass" and cls["init_seen"]):
            return self._bare_instance(name, record, bool(cls.get("frozen")))
        if cls["shape"] == "dataclass":
            words = [
                ast.keyword(self.decisions.state(each), self.build(value))
                for each, value in record["state"].items()
            ]
            return ast.Call(ast.Name(name, ast.Load()), [], words)
        state = self._state(record)
        return ast.Call(
            ast.Name(name, ast.Load()),
            [expression(state[each]) for each in self.shape(owner)[1] if each in state],
            [],
        )

    def _bare_instance(self, name: str, record: Mapping[str, Any], frozen: bool) -> ast.expr:
        """An object whose class keeps its own `__init__`, because gathered code calls it."""
        maker = self.names.fresh("make")
        lines = [f"def {maker}():", f"    made = {name}.__new__({name})"]
        if record["module"]:
            lines.append("    nn.Module.__init__(made)")
        for each, value in record["state"].items():
            public, text = self.decisions.state(each), ast.unparse(self.build(value))
            setting = (
                f"object.__setattr__(made, {public!r}, {text})"
                if frozen
                else f"made.{public} = {text}"
            )
            lines.append("    " + setting)
        self.statements[maker] = [*ast.parse("\n".join([*lines, "    return made"])).body]
        return ast.Call(ast.Name(maker, ast.Load()), [], [])

    def _state(self, record: Mapping[str, Any]) -> dict[str, str]:
        raise NotImplementedError

    def shape(self, key: str) -> tuple[list[str], list[str]]:
        """Of a class: attributes equal in all instances, and attributes to be given as
        arguments.
        """
        raise NotImplementedError

    def _class(self, key: str, name: str) -> ast.ClassDef:
        raise NotImplementedError

    def ties(self, root: str, key: str) -> list[ast.stmt]:
        """Assignments that make shared parameters and sub-modules shared again."""
        raise NotImplementedError


_POSITIONAL = frozenset("""
    in_features out_features in_channels out_channels kernel_size num_embeddings embedding_dim
    normalized_shape num_groups num_channels num_features p input_size hidden_size in1_features
    in2_features output_size embed_dim num_heads
    """.split())


def public_dotted_name(name: str) -> ast.expr:
    """A public dotted name, with the usual short forms `nn.` and `F.`."""
    if name.startswith("torch.nn.functional"):
        name = "F" + name[len("torch.nn.functional") :]
    elif name == "torch.nn" or name.startswith("torch.nn."):
        name = (
            name[len("torch.") :]
            if not name.startswith("torch.nn.attention") and not name.startswith("torch.nn.utils")
            else name
        )
    return expression(name)


def _list(items: list[ast.expr]) -> ast.expr:
    """`[Block() for _ in range(4)]` for equal items, else the list itself."""
    texts = {ast.unparse(each) for each in items}
    if len(items) > 1 and len(texts) == 1:
        return expression(f"[{texts.pop()} for _ in range({len(items)})]")
    return ast.List(items, ast.Load())

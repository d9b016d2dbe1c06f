"""Values become expressions: numbers and names inline, what has state as a global or a constructor
call.
"""

from __future__ import annotations

import ast

from anonymizer.source.objects.classes import ClassWriter
from anonymizer.source.objects.context import ProgramContext
from anonymizer.source.objects.functions import FunctionWriter
from anonymizer.source.objects.instance_attributes import InstanceAttributes
from anonymizer.source.objects.instances import InstanceWriter
from anonymizer.source.objects.operators import SETUP, build_operator
from anonymizer.source.objects.syntax import build_assignment, build_dotted_name, parse_expression
from anonymizer.source.objects.tensors import write_tensor
from anonymizer.source.objects.ties import tie
from anonymizer.source.symbols.imports import KNOWN_MODULES
from anonymizer.source.symbols.symbol_table import FunctionNode, list_parameters
from collectors.protocol.program_source import (
    ConstantReference,
    DictReference,
    FunctionReference,
    GeneratorReference,
    LoggerReference,
    MemberReference,
    MethodReference,
    NamedReference,
    NumpyReference,
    OperatorReference,
    PartialReference,
    RecordReference,
    Reference,
    SequenceReference,
)

#: Containers of the standard library that are made of a list or a dictionary.
_COLLECTIONS = frozenset(
    "collections." + name for name in ("OrderedDict", "deque", "defaultdict", "Counter")
)
#: Types of NumPy's scalars.
_NUMPY_SCALARS = frozenset(
    "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    " longdouble complex64 complex128".split()
)
_STATEFUL = frozenset(
    "tensor array instance list dict set partial method logger region generator".split()
)


class ValueWriter:
    """Writes gathered values; the `functions` and `classes` that they need are defined on the
    way.
    """

    def __init__(self, context: ProgramContext) -> None:
        self.context = context
        self._names = context.names
        self._symbols = context.symbols
        self._decisions = context.decisions
        self._definitions = context.definitions
        attributes = InstanceAttributes(context, self)
        self.classes = ClassWriter(context, self, attributes)
        self.functions = FunctionWriter(context, self, self.classes)
        self._instances = InstanceWriter(context, self, self.classes, attributes)
        self._globals: dict[str, ast.expr] = {}
        self._operators: dict[str, str] = {}

    def refer(self, ref: Reference, name: str, stored: bool) -> ast.expr:
        """The expression for a value met in a function body; what has state becomes a global.

        Args:
            name: the name by which the body knows the value, "" where it may stand inline.
            stored: some function assigns that name, so that all who read it share it.
        """
        if name and (stored or self._is_stateful(ref)):
            return self._define_global(ref, name if stored else repr(sorted(ref.items(), key=str)))
        return self.build(ref)

    def _is_stateful(self, ref: Reference) -> bool:
        if ref["kind"] == "tuple":
            return any(self._is_stateful(each) for each in ref["items"])
        return ref["kind"] in _STATEFUL

    def _define_global(self, ref: Reference, key: str) -> ast.expr:
        if key not in self._globals:
            name = self._names.take_unused("state")
            self._globals[key] = ast.Name(name, ast.Load())
            self._definitions.roots[name] = ref
            statements = [build_assignment(name, self.build(ref))]
            if ref["kind"] == "instance":
                statements += tie(self.context, name, ref["id"])
            self._definitions.statements[name] = statements
        return self._globals[key]

    def build(self, ref: Reference) -> ast.expr:
        """The constructor expression of any gathered value.

        What has no public form becomes `None` and is noted in the problems of the definitions.
        """
        handler = getattr(self, "_build_" + ref["kind"], None)
        if handler is None:
            self._definitions.problems.append(str(ref.get("reason", ref["kind"])))
            return ast.Constant(None)
        made: ast.expr = handler(ref)
        return made

    def _build_const(self, ref: ConstantReference) -> ast.expr:
        if ref["text"]:
            return ast.Constant(self._names.rewrite_text(ref["value"]))
        if ref["value"] in ("inf", "-inf", "nan"):
            return parse_expression(f'float("{ref["value"]}")')
        is_bytes = ref["value"].startswith(("b'", 'b"'))
        return parse_expression("b''" if is_bytes else ref["value"])

    def _build_numpy(self, ref: NumpyReference) -> ast.expr:
        """A scalar of NumPy, which torch takes for an array."""
        if ref["name"] not in _NUMPY_SCALARS:
            self._definitions.problems.append("a scalar of NumPy")
        made = self._build_const({"kind": "const", "value": ref["value"], "text": False})
        return ast.Call(parse_expression(f"numpy.{ref['name']}"), [made], [])

    def _build_module(self, ref: NamedReference) -> ast.expr:
        return build_dotted_name(ref["name"])

    def _build_torch(self, ref: NamedReference) -> ast.expr:
        return build_dotted_name(ref["name"])

    def _build_stdlib(self, ref: NamedReference) -> ast.expr:
        if ref["name"].split(".")[0].lstrip("_") not in KNOWN_MODULES:
            self._definitions.problems.append("standard module " + ref["name"].split(".")[0])
        name = ref["name"][1:] if ref["name"].startswith("_operator.") else ref["name"]
        return build_dotted_name(name)

    def _build_builtin(self, ref: NamedReference) -> ast.expr:
        return parse_expression(ref["name"])

    def _build_device(self, ref: NamedReference) -> ast.expr:
        return parse_expression(f'torch.device("{ref["name"]}")')

    def _build_logger(self, ref: LoggerReference) -> ast.expr:
        return parse_expression('logging.getLogger("text0")')

    def _build_factory(self, ref: FunctionReference) -> ast.expr:
        made = ast.keyword("default_factory", self.build(ref["function"]))
        return ast.Call(build_dotted_name("dataclasses.field"), [], [made])

    def _build_function(self, ref: RecordReference) -> ast.expr:
        return parse_expression(self.functions.refer(ref["id"]))

    def _build_class(self, ref: RecordReference) -> ast.expr:
        return ast.Name(self.classes.refer(ref["id"]), ast.Load())

    def _build_member(self, ref: MemberReference) -> ast.expr:
        owner = self.build(ref["class"])
        if "value" in ref:
            return ast.Call(owner, [self.build(ref["value"])], [])
        cls = ref["class"]
        assert cls["kind"] == "class"
        return ast.Attribute(owner, self._decisions.name_member(cls["id"], ref["name"]), ast.Load())

    def _build_method(self, ref: MethodReference) -> ast.expr:
        owner = ref["owner"]
        assert owner["kind"] in ("tensor", "array", "instance", "function", "class")
        is_object = owner["kind"] == "instance"
        cls = self._symbols.get_instance(owner["id"])["class"] if is_object else owner
        key = str(cls.get("id", ""))
        base, name = self.refer(owner, "method", False), ref["name"]
        is_own = key and self._symbols.find_method(key, name) is not None
        if is_own or key and name not in self._names.vocabulary:
            name = self._decisions.name_member(key, name)
        return ast.Attribute(base, name, ast.Load())

    def _build_generator(self, ref: GeneratorReference) -> ast.expr:
        made = [self.build(each) for each in ref["args"]]
        return ast.Call(build_dotted_name(ref["name"]), made, [])

    def _build_partial(self, ref: PartialReference) -> ast.expr:
        words = [
            ast.keyword(self._names.name_variable(name, "arg"), self.build(each))
            for name, each in ref["kwargs"].items()
        ]
        if ref["function"]["kind"] in ("torch", "builtin", "stdlib"):
            words = [ast.keyword(name, self.build(each)) for name, each in ref["kwargs"].items()]
        args = [self.build(ref["function"]), *(self.build(each) for each in ref["args"])]
        return ast.Call(build_dotted_name("functools.partial"), args, words)

    def _build_region(self, ref: FunctionReference) -> ast.expr:
        marks = build_dotted_name("torch.compiler.nested_compile_region")
        return ast.Call(marks, [self.build(ref["function"])], [])

    def _build_operator(self, ref: OperatorReference) -> ast.expr:
        """An operator of torch.library, registered anew under a public name."""
        if ref["function"]["kind"] != "function":
            self._definitions.problems.append("a custom operator that is no function")
            return ast.Constant(None)
        key = ref["function"]["id"]
        if key not in self._operators:
            name = self._operators[key] = self._names.take_unused("operator")
            for word in SETUP if ref["setup"] else ():
                self._names.fix_variable(word, word)
            function = self.build(ref["function"])
            given = [each.arg for each in list_parameters(self._find_definition(function))]
            self._definitions.statements[name] = build_operator(
                ref, name, function, given, self.build
            )
        return ast.Name(self._operators[key], ast.Load())

    def _find_definition(self, function: ast.expr) -> FunctionNode:
        made = self._definitions.statements[ast.unparse(function)][0]
        assert isinstance(made, (ast.FunctionDef, ast.AsyncFunctionDef))
        return made

    def _build_list(self, ref: SequenceReference) -> ast.expr:
        made = ast.List([self.build(each) for each in ref["items"]], ast.Load())
        return self.wrap_in_type(ref, made)

    def _build_tuple(self, ref: SequenceReference) -> ast.expr:
        return ast.Tuple([self.build(each) for each in ref["items"]], ast.Load())

    def _build_set(self, ref: SequenceReference) -> ast.expr:
        return (
            ast.Set([self.build(each) for each in ref["items"]])
            if ref["items"]
            else parse_expression("set()")
        )

    def _build_dict(self, ref: DictReference) -> ast.expr:
        made = ast.Dict(
            [self.build(each[0]) for each in ref["items"]],
            [self.build(each[1]) for each in ref["items"]],
        )
        return self.wrap_in_type(ref, made)

    def wrap_in_type(self, ref: SequenceReference | DictReference, display: ast.expr) -> ast.expr:
        """A gathered container, whose items are written as a display, as the type that it is of."""
        name = ref.get("type")
        if name not in _COLLECTIONS:
            return display
        args = [display]
        if name == "collections.defaultdict":
            args.insert(0, self.build(ref["factory"]) if "factory" in ref else ast.Constant(None))
        longest = ref.get("longest")
        words = [ast.keyword("maxlen", self.build(longest))] if longest is not None else []
        return ast.Call(parse_expression(name), args, words)

    def _build_tensor(self, ref: RecordReference) -> ast.expr:
        spec = self._symbols.gathered["tensors"][ref["id"]]
        return parse_expression(write_tensor(spec, self.context.level))

    def _build_array(self, ref: RecordReference) -> ast.expr:
        made = self._build_tensor(ref)
        return ast.Call(ast.Attribute(made, "numpy", ast.Load()), [], [])

    def _build_instance(self, ref: RecordReference) -> ast.expr:
        return self._instances.build(ref["id"])

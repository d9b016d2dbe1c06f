"""Objects become constructor calls."""

from __future__ import annotations

import ast

from anonymizer.source.objects.classes import ClassWriter
from anonymizer.source.objects.context import ProgramContext, Values
from anonymizer.source.objects.instance_attributes import InstanceAttributes
from anonymizer.source.objects.syntax import build_dotted_name, build_list, parse_expression
from collectors.protocol.program_source import InstanceRecord

#: Arguments of stock layers that are usually given by position.
_POSITIONAL = frozenset("""
    in_features out_features in_channels out_channels kernel_size num_embeddings embedding_dim
    normalized_shape num_groups num_channels num_features p input_size hidden_size in1_features
    in2_features output_size embed_dim num_heads
    """.split())


class InstanceWriter:
    """Writes the call that makes an object."""

    def __init__(
        self,
        context: ProgramContext,
        values: Values,
        classes: ClassWriter,
        attributes: InstanceAttributes,
    ) -> None:
        self._context = context
        self._values = values
        self._classes = classes
        self._attributes = attributes
        self._building: list[str] = []

    def build(self, key: str) -> ast.expr:
        """The expression of a gathered instance by its id; its class is defined on the way.

        What has no public form becomes `None` and is noted in the problems of the definitions.
        """
        record = self._context.symbols.get_instance(key)
        if key in self._building:
            return self._refuse("an object that contains itself")
        self._building.append(key)
        try:
            cls = record["class"]
            if cls["kind"] == "class":
                return self._build_private(record, cls["id"])
            if cls["kind"] == "torch":
                return self._build_stock(record, cls["name"])
            return self._refuse(str(cls.get("reason", "an object")))
        finally:
            self._building.pop()

    def _refuse(self, problem: str) -> ast.expr:
        self._context.definitions.problems.append(problem)
        return ast.Constant(None)

    def _build_stock(self, record: InstanceRecord, name: str) -> ast.expr:
        """A layer or a container of torch, by its public name."""
        if "items" in record:
            return self._build_container(record, name)
        layer, stock = build_dotted_name(name), record["stock"]
        assert stock is not None
        args: list[ast.expr] = []
        words: list[ast.keyword] = []
        for name, each in stock["args"].items():
            if name in _POSITIONAL and not words:
                args.append(self._values.build(each))
            else:
                words.append(ast.keyword(name, self._values.build(each)))
        for name, text in stock["factory"].items():
            words.append(
                ast.keyword(name, parse_expression(text if name == "dtype" else repr(text)))
            )
        made: ast.expr = ast.Call(layer, args, words)
        return (
            ast.Call(ast.Attribute(made, "requires_grad_", ast.Load()), [ast.Constant(False)], [])
            if record.get("frozen")
            else made
        )

    def _build_container(self, record: InstanceRecord, name: str) -> ast.expr:
        layer = build_dotted_name(name)
        items = [(key, self._values.build(each)) for key, each in record["items"]]
        if name.endswith("Dict"):
            keys: list[ast.expr | None] = [
                ast.Constant(self._context.names.name_attribute(key)) for key, _ in items
            ]
            return ast.Call(layer, [ast.Dict(keys, [each for _, each in items])], [])
        if not name.endswith("List"):
            return ast.Call(layer, [each for _, each in items], [])
        return ast.Call(layer, [build_list([each for _, each in items])], [])

    def _build_private(self, record: InstanceRecord, owner: str) -> ast.expr:
        """An object of a gathered class, `owner`."""
        name, cls = self._classes.refer(owner), self._context.symbols.get_class(owner)
        if cls["shape"] == "namedtuple":
            return ast.Call(
                ast.Name(name, ast.Load()),
                [self._values.build(each) for each in record["state"].values()],
                [],
            )
        if "__init__" in cls["methods"] or (cls["shape"] == "dataclass" and cls["init_seen"]):
            return self._build_bare(name, record, bool(cls.get("frozen")))
        if cls["shape"] == "dataclass":
            words = [
                ast.keyword(self._context.decisions.name_state(each), self._values.build(value))
                for each, value in record["state"].items()
            ]
            return ast.Call(ast.Name(name, ast.Load()), [], words)
        state = self._attributes.read_state(record)
        return ast.Call(
            ast.Name(name, ast.Load()),
            [
                parse_expression(state[each])
                for each in self._attributes.split(owner)[1]
                if each in state
            ],
            [],
        )

    def _build_bare(self, name: str, record: InstanceRecord, frozen: bool) -> ast.expr:
        """An object whose class keeps its own `__init__`, because gathered code calls it."""
        constructor = self._context.names.take_unused("make")
        lines = [f"def {constructor}():", f"    made = {name}.__new__({name})"]
        if record["module"]:
            lines.append("    nn.Module.__init__(made)")
        for each, value in record["state"].items():
            public = self._context.decisions.name_state(each)
            text = ast.unparse(self._values.build(value))
            setting = (
                f"object.__setattr__(made, {public!r}, {text})"
                if frozen
                else f"made.{public} = {text}"
            )
            lines.append("    " + setting)
        made = ast.parse("\n".join([*lines, "    return made"])).body
        self._context.definitions.statements[constructor] = [*made]
        return ast.Call(ast.Name(constructor, ast.Load()), [], [])

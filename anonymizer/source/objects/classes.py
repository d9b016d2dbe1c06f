"""A class gets the `__init__` that its live instances imply.

What all instances of a class share stands in its `__init__`; what differs becomes a parameter. So
two blocks of equal width are one class without arguments, however their author configured them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

from anonymizer.source.objects.context import ProgramContext, Values
from anonymizer.source.objects.function_body import Rewriter
from anonymizer.source.objects.instance_attributes import InstanceAttributes
from anonymizer.source.objects.syntax import build_assignment, build_dotted_name, parse_expression
from anonymizer.source.objects.ties import tie
from anonymizer.source.symbols.symbol_table import MethodOwner
from collectors.protocol.program_source import ClassRecord, InstanceRecord, MethodRecord

_DECORATORS = {
    "static": "staticmethod",
    "class": "classmethod",
    "property": "property",
    "cached_property": "functools.cached_property",
}


class ClassWriter:
    """Defines classes when something first needs them."""

    def __init__(
        self, context: ProgramContext, values: Values, attributes: InstanceAttributes
    ) -> None:
        self._context = context
        self._symbols = context.symbols
        self._decisions = context.decisions
        self._definitions = context.definitions
        self._values = values
        self._attributes = attributes

    def refer(self, key: str, name: str | None = None) -> str:
        """The public name of a gathered class, which is defined on the way.

        Args:
            key: the id of the class.
            name: its public name where that is given, as for the entry; else it gets a fresh one.
        """
        names, made = self._context.names, self._definitions
        if key in made.public:
            return made.public[key]
        record = self._symbols.get_class(key)
        name = name or names.take_unused(self._choose_prefix(record))
        made.public[key] = name
        names.note_definition(record["name"], name)
        made.statements[name] = []  # in its place, before what its methods need
        made.statements[name] = [self._build_class(key, name)]
        return name

    def _choose_prefix(self, record: ClassRecord) -> str:
        """What a class is called without its own name."""
        if record["module"] or record["function"]:
            return "Block" if record["module"] else "Operation"
        return "Error" if self._is_exception(record) else "Thing"

    def _is_exception(self, record: ClassRecord) -> bool:
        return any(
            (
                self._is_exception(self._symbols.get_class(base["id"]))
                if base["kind"] == "class"
                else isinstance(known := getattr(builtins, str(base.get("name")), None), type)
                and issubclass(known, BaseException)
            )
            for base in record["bases"]
        )

    def _build_class(self, key: str, name: str) -> ast.ClassDef:
        record = self._symbols.get_class(key)
        bases = [self._values.build(base) for base in record["bases"]]
        body: list[ast.stmt] = []
        decorators: list[ast.expr] = []
        if record["shape"] in ("dataclass", "namedtuple"):
            body += self._build_fields(key, record)
            if record["shape"] == "dataclass":
                decorators = [
                    parse_expression(
                        "dataclasses.dataclass" + ("(frozen=True)" if record.get("frozen") else "")
                    )
                ]
            else:
                bases = [build_dotted_name("typing.NamedTuple")]
        elif record["shape"] == "enum":
            for field, default in record["fields"]:
                assert default is not None
                member = self._decisions.name_member(key, field)
                body.append(build_assignment(member, self._values.build(default)))
        for field, value in record["attributes"].items():
            body.append(
                build_assignment(self._decisions.name_member(key, field), self._values.build(value))
            )
        if record["slots"]:
            words = [ast.Constant(self._decisions.name_state(each)) for each in record["slots"]]
            body.insert(0, build_assignment("__slots__", ast.Tuple(list(words), ast.Load())))
        if "__init__" not in record["methods"] and record["shape"] == "class":
            body += self._build_constructor(key, record)
        body += [
            made
            for each, method in record["methods"].items()
            if (made := self._build_method(key, each, method))
        ]
        for each, method in record.get("setters", {}).items():
            if (made := self._build_method(key, each, method)) and each in record["methods"]:
                body.append(made)
        made = ast.ClassDef(name, bases, [], body or [ast.Pass()], decorators)
        if "type_params" in ast.ClassDef._fields:
            made.type_params = []  # type: ignore[attr-defined]
        return made

    def _build_fields(self, key: str, record: ClassRecord) -> list[ast.stmt]:
        live = [
            each["state"]
            for each in self._symbols.gathered["instances"].values()
            if each["class"].get("id") == key
        ]
        needed = {name for state in live for name in state}
        whole = record["init_seen"] or record["shape"] == "namedtuple"
        made: list[ast.stmt] = []
        for name, default in record["fields"]:
            if whole or name in needed:
                value = self._values.build(default) if default is not None else None
                target = ast.Name(self._decisions.name_state(name), ast.Store())
                made.append(ast.AnnAssign(target, ast.Name("object", ast.Load()), value, 1))
        return made

    def _build_constructor(self, key: str, record: ClassRecord) -> list[ast.stmt]:
        same, given = self._attributes.split(key)
        everyone = self._symbols.gathered["instances"].values()
        live = next((each for each in everyone if each["class"].get("id") == key), None)
        if live is None or not (same or given or live.get("stock")):
            return []
        state = self._attributes.read_state(live)
        parameters = {
            name: self._decisions.name_state(name) if name[0] != "*" else "items" for name in given
        }
        lines = [f"def __init__({', '.join(['self', *parameters.values()])}):"]
        if record["module"]:
            lines.append("    " + self._write_parent_call(record, live, state, parameters))
        values = {
            name: parameters.get(name, state.get(name, "None"))
            for name in [*same, *given]
            if name[0] != "*"
        }
        for name, text in values.items():
            public = self._decisions.name_state(name)
            if name in live.get("buffers", ()):
                lines.append(f"    self.register_buffer({public!r}, {text})")
            else:
                lines.append(f"    self.{public} = {text}")
        if len(lines) == 1:
            return []
        made = ast.parse("\n".join(lines)).body
        if self._definitions.public.get(key) == "Repro":
            instances = self._symbols.gathered["instances"]
            number = next(i for i, record in instances.items() if record is live)
            made[0].body += tie(self._context, "self", number)  # type: ignore[attr-defined]
        return list(made)

    def _write_parent_call(
        self,
        record: ClassRecord,
        live: InstanceRecord,
        state: Mapping[str, str],
        given: Mapping[str, str],
    ) -> str:
        stock = live.get("stock")
        if stock:
            words = [
                f"{name}={ast.unparse(self._values.build(each))}"
                for name, each in stock["args"].items()
            ]
            return f"super().__init__({', '.join(words)})"
        if any(base["kind"] == "class" for base in record["bases"]):
            return "nn.Module.__init__(self)"
        if "*items" not in state:
            return "super().__init__()"
        items = given.get("*items", state["*items"])
        listed = any(str(base.get("name")).endswith("List") for base in record["bases"])
        return (
            f"super().__init__({'list' if listed else '*'}({items}))"
            if listed
            else f"super().__init__(*{items})"
        )

    def _build_method(self, key: str, name: str, method: MethodRecord) -> ast.stmt | None:
        target = method["function"]
        if target["kind"] != "function":
            self._definitions.problems.append(str(target.get("reason", "a method")))
            return None
        rewriter = Rewriter(
            target["id"],
            self._decisions,
            self._values.refer,
            self._definitions.problems,
        )
        owner = MethodOwner(key, name, method["method"])
        made = rewriter.rewrite(self._decisions.name_member(key, name), owner)
        decorator = _DECORATORS.get(method["method"])
        if method["method"] == "setter":
            decorator = f"{made.name}.setter"
        kept = [
            each for each in made.decorator_list if ast.unparse(each) not in _DECORATORS.values()
        ]
        made.decorator_list = ([parse_expression(decorator)] if decorator else []) + kept
        return made

"""Objects become constructor calls: a class gets the `__init__` that its live instances imply.

What all instances of a class share stands in its `__init__`; what differs becomes a parameter. So
two blocks of equal width are one class without arguments, however their author configured them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from anonymizer.source.functions import Rewriter
from anonymizer.source.objects import ObjectTexts, Ref, expression, public_dotted_name

_DECORATORS = {
    "static": "staticmethod",
    "class": "classmethod",
    "property": "property",
    "cached_property": "functools.cached_property",
}


class ObjectBuilder(ObjectTexts):
    """Objects with their classes."""

    def _state(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Private attribute → text of its value; numbered children of a container subclass are
        `*items`.
        """
        found = {name: ast.unparse(self.build(each)) for name, each in record["state"].items()}
        for name in record.get("buffers", ()):
            if name in found and record["state"][name]["kind"] == "tensor":
                found[name] = found[name]
        if record.get("items"):
            found["*items"] = ", ".join(
                ast.unparse(self.build(each)) for _, each in record["items"]
            )
            found["*items"] = f"({found['*items']},)"
        return found

    def shape(self, key: str) -> tuple[list[str], list[str]]:
        """Of a class: attributes equal in all instances, and attributes to be given as
        arguments.
        """
        if key not in self.shapes:
            live = [
                record
                for record in self.symbols.gathered["instances"].values()
                if record["class"]["kind"] == "class" and record["class"]["id"] == key
            ]
            self.shapes[key] = ([], [])
            states = [self._state(record) for record in live]
            everything = list(dict.fromkeys(name for state in states for name in state))
            same = [name for name in everything if len({state.get(name) for state in states}) == 1]
            self.shapes[key] = (same, [name for name in everything if name not in same])
        return self.shapes[key]

    def _class(self, key: str, name: str) -> ast.ClassDef:
        record = self.symbols.cls(key)
        bases = [self.build(base) for base in record["bases"]]
        body: list[ast.stmt] = []
        decorators: list[ast.expr] = []
        if record["shape"] in ("dataclass", "namedtuple"):
            body += self._fields(key, record)
            if record["shape"] == "dataclass":
                decorators = [
                    expression(
                        "dataclasses.dataclass" + ("(frozen=True)" if record.get("frozen") else "")
                    )
                ]
            else:
                bases = [public_dotted_name("typing.NamedTuple")]
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
        body += [
            made
            for each, method in record["methods"].items()
            if (made := self._method(key, each, method))
        ]
        made = ast.ClassDef(name, bases, [], body or [ast.Pass()], decorators)
        if "type_params" in ast.ClassDef._fields:
            made.type_params = []  # type: ignore[attr-defined]
        return made

    def _fields(self, key: str, record: Mapping[str, Any]) -> list[ast.stmt]:
        live = [
            each["state"]
            for each in self.symbols.gathered["instances"].values()
            if each["class"].get("id") == key
        ]
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
        everyone = self.symbols.gathered["instances"].values()
        live = next((each for each in everyone if each["class"].get("id") == key), None)
        if live is None or not (same or given or live.get("stock")):
            return []
        state = self._state(live)
        parameters = {
            name: self.decisions.state(name) if name[0] != "*" else "items" for name in given
        }
        lines = [f"def __init__({', '.join(['self', *parameters.values()])}):"]
        if record["module"]:
            lines.append("    " + self._parent(record, live, state, parameters))
        values = {
            name: parameters.get(name, state.get(name, "None"))
            for name in [*same, *given]
            if name[0] != "*"
        }
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
            instances = self.symbols.gathered["instances"]
            number = next(i for i, record in instances.items() if record is live)
            made[0].body += self.ties("self", number)  # type: ignore[attr-defined]
        return list(made)

    def _parent(
        self,
        record: Mapping[str, Any],
        live: Any,
        state: Mapping[str, str],
        given: Mapping[str, str],
    ) -> str:
        if live.get("stock"):
            words = [
                f"{name}={ast.unparse(self.build(each))}"
                for name, each in live["stock"]["args"].items()
            ]
            return f"super().__init__({', '.join(words)})"
        if any(base["kind"] == "class" for base in record["bases"]):
            return "nn.Module.__init__(self)"
        if "*items" not in state:
            return "super().__init__()"
        items = given.get("*items", state["*items"])
        listed = any(base.get("name", "").endswith("List") for base in record["bases"])
        return (
            f"super().__init__({'list' if listed else '*'}({items}))"
            if listed
            else f"super().__init__(*{items})"
        )

    def _method(self, key: str, name: str, method: Mapping[str, Any]) -> ast.stmt | None:
        target = method["function"]
        if target["kind"] != "function":
            self.problems.append(target.get("reason", "a method"))
            return None
        rewriter = Rewriter(target["id"], self.decisions, self.value, self.problems)
        made = rewriter.rewrite(self.decisions.member(key, name), (key, name, method["method"]))
        decorator = _DECORATORS.get(method["method"])
        kept = [
            each for each in made.decorator_list if ast.unparse(each) not in _DECORATORS.values()
        ]
        made.decorator_list = ([expression(decorator)] if decorator else []) + kept
        return made

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
            record = self.symbols.instance(ref["id"])
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


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=1)

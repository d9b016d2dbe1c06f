"""From graph IR to the Python a person would write: stock layers in `__init__`, operators as
operators, regions as `with`.

The text is valid but not formatted; black formats what is shown to people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from anonymizer.graph import stock_layers
from anonymizer.graph.expressions import (
    IN_PLACE,
    INFIX,
    ExpressionWriter,
    write_constructor,
    write_literal,
)
from anonymizer.graph.identifiers import name_size
from anonymizer.graph.ir import (
    Graph,
    Input,
    Node,
    Ref,
    Seq,
    StockLayer,
    TensorMeta,
    Value,
    find_written_inputs,
    is_impure,
)
from anonymizer.graph.layouts import write_shared_storage, write_tensor
from anonymizer.graph.recipes import parenthesize_operand
from anonymizer.graph.repro import FUNCTION_CALL, MODULE_CALL, ReproBody, indent
from anonymizer.kinds import assert_never


class _Statements:
    """The lines of a function's body, each indented by the `with` blocks that are open."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self._variables = 0

    def add(self, statement: str) -> None:
        self.lines.append("    " * self.depth + statement)

    def assign(self, expression: str) -> str:
        """Gives the value a new variable, whose name is returned."""
        name = f"v{self._variables}"
        self._variables += 1
        self.add(f"{name} = {expression}")
        return name

    def open_block(self, header: str) -> None:
        self.add(header)
        self.depth += 1

    def close_block(self) -> None:
        self.depth = max(0, self.depth - 1)


class Emitter:
    """Emits one graph; `text` holds the expression of each value written so far."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.text: dict[str, str] = {}
        self.expressions = ExpressionWriter(self.text.__getitem__)
        self.users = graph.map_users()
        self.layers: Counter[str] = Counter()
        self.init: list[str] = []
        self.matches = {
            node.name: match
            for node in graph.nodes
            if (match := stock_layers.match(graph, node, self.users))
        }
        self.owned = {name for match in self.matches.values() for name in match.owns}
        self.sizes: dict[str, tuple[str, int]] = {}
        self.changes = _find_changed_parts(graph, self.users)
        self.order = {node.name: place for place, node in enumerate(graph.nodes)}

    def build_body(self) -> ReproBody:
        """Definitions and inputs of the graph as the body of a repro.

        A module where the graph has state or stock layers, a function otherwise. Sizes are in
        elements; those that change from call to call get names.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        arguments = [item for item in self.graph.inputs if item.kind == "input"]
        self._name_inputs(arguments)
        self._write_state()
        forward = self._write_forward()
        is_module = bool(self.init)
        parameters = ", ".join(self.text[item.name] for item in arguments)
        if is_module:
            lines = [
                "class Repro(nn.Module):",
                "    def __init__(self):",
                "        super().__init__()",
            ]
            lines += ["        " + line for line in self.init]
            lines += ["", f"    def forward(self{', ' + parameters if parameters else ''}):"]
            lines += ["        " + line for line in forward]
        else:
            lines = [f"def repro({parameters}):", *indent(forward)]
        return ReproBody(
            "\n".join(lines),
            "Repro()" if is_module else "repro",
            tuple(self._write_inputs(arguments)),
            MODULE_CALL if is_module else FUNCTION_CALL,
            self._list_size_defaults(),
        )

    def _name_inputs(self, arguments: list[Input]) -> None:
        plain = ["x", "y", "z", "w"]
        trained = [item for item in arguments if item.meta.requires_grad]
        if 1 < len(arguments) < 4 and trained == arguments[-1:]:
            plain[len(arguments) - 1] = "w"
        for index, item in enumerate(arguments):
            self.text[item.name] = plain[index] if len(arguments) <= 4 else f"x{index}"

    def _write_state(self) -> None:
        loose = [i for i in self.graph.inputs if i.kind != "input" and i.name not in self.owned]
        for number, item in enumerate(loose, 1):
            name = f"{'weight' if item.kind == 'param' else 'buffer'}{number}"
            self.text[item.name] = f"self.{name}"
            made = self._write_tensor(item)
            if item.kind == "param":
                suffix = "" if item.meta.requires_grad else ", requires_grad=False"
                self.init.append(f"self.{name} = nn.Parameter({made}{suffix})")
            else:
                self.init.append(f'self.register_buffer("{name}", {made})')

    def _write_tensor(self, item: Input) -> str:
        return write_tensor(item.meta, item.recipe, self._name_dims(item))

    def _name_dims(self, item: Input) -> tuple[int | str, ...]:
        symbols = item.symbols or item.meta.shape
        return tuple(
            self._name_size(symbol, size) if isinstance(symbol, str) else size
            for symbol, size in zip(symbols, item.meta.shape)
        )

    def _name_size(self, symbol: str, size: int) -> int | str:
        if not re.fullmatch(r"[a-z]\d+", symbol) or len(self.graph.runs) < 2:
            return size
        if symbol not in self.sizes:
            self.sizes[symbol] = (name_size(len(self.sizes)), size)
        return self.sizes[symbol][0]

    def _list_size_defaults(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.sizes.values())

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of symbolic sizes, as Dynamo has them (`s0`), in the order of the parameters of
        `inputs`.

        Known once `build_body` has been called.
        """
        return tuple(self.sizes)

    def _write_inputs(self, arguments: list[Input]) -> list[str]:
        written = find_written_inputs(self.graph)
        if not any(item.alias for item in arguments):
            parts = [
                self._with_grad(self._write_tensor(i), i.meta, i.name in written) for i in arguments
            ]
            return ["return ()"] if not parts else ["return (" + ", ".join(parts) + ",)"]
        lines: list[str] = []
        names = {item.name for item in arguments}
        for owner in arguments:
            if owner.alias is None or owner.alias.of not in names:
                views = [item for item in arguments if item.alias and item.alias.of == owner.name]
                is_written = any(item.name in written for item in (owner, *views))
                lines += self._write_storage(owner, views, is_written, f"base{len(lines) or ''}")
        return [*lines, "return (" + ", ".join(self.text[item.name] for item in arguments) + ",)"]

    def _write_storage(
        self, owner: Input, views: list[Input], is_written: bool, base: str
    ) -> list[str]:
        """The statements for an input and those that lie in its storage."""

        def make(meta: TensorMeta) -> str:
            dims = self._name_dims(owner) if meta is owner.meta else meta.shape
            return self._with_grad(write_tensor(meta, owner.recipe, dims), meta, is_written)

        placed = [(self.text[i.name], i.meta, i.alias.offset) for i in views if i.alias]
        return write_shared_storage((self.text[owner.name], owner.meta), placed, make, base)

    def _with_grad(self, text: str, meta: TensorMeta, is_written: bool) -> str:
        """A tensor that requires a gradient; a leaf may not be changed in place."""
        if not meta.requires_grad or not meta.is_float:
            return text
        return parenthesize_operand(text) + ".requires_grad_()" + (".clone()" if is_written else "")

    # -- forward -----------------------------------------------------------------------------------

    def _write_forward(self) -> list[str]:
        """The statements of the call, from the first node to the `return`."""
        body = _Statements()
        in_changes = {each.name for change in self.changes.values() for each in change}
        for node in self.graph.nodes:
            if node.name in in_changes:
                continue
            if node.op == "enter":
                body.open_block(f"with {self.expressions.write_call(node)}:")
            elif node.op == "exit":
                body.close_block()
            elif node.name in self.changes:
                body.add(self._change_part(*self.changes[node.name]))
            elif node.target in IN_PLACE:  # a statement, which has no expression
                self._add_change(body, node)
            else:
                self._add_value(body, node)
        return [*body.lines, _write_return([self.text[ref.name] for ref in self.graph.outputs])]

    def _add_change(self, body: _Statements, node: Node) -> None:
        """`x += y`, where `x` gets a name first unless it is a variable that holds a tensor."""
        old = self.expressions.write_operand(node.args[0])
        change = self.expressions.write_argument(node.args[1])
        is_variable = isinstance(node.meta, TensorMeta) and old.isidentifier()
        name = old if is_variable else body.assign(old)
        self.text[node.name] = name
        body.add(f"{name} {IN_PLACE[node.target]} {change}")

    def _add_value(self, body: _Statements, node: Node) -> None:
        """A value gets a variable, unless it can be written where it is used or nobody uses it."""
        outputs = [ref.name for ref in self.graph.outputs]
        expression = self._write_expression(node)
        is_result = node is self.graph.nodes[-1] and outputs == [node.name] and not body.depth
        if is_result or self._is_inline(node):
            self.text[node.name] = expression
        elif node.name in self.users or node.name in outputs:
            self.text[node.name] = body.assign(expression)
        else:
            body.add(expression)

    def _change_part(self, part: Node, change: Node) -> str:
        operand = self.expressions.write_argument(change.args[1])
        return f"{self.expressions.write_function(part)} {IN_PLACE[change.target]} {operand}"

    def _is_inline(self, node: Node) -> bool:
        """Sizes and single items are written where they are used, if used once and nothing changes
        in between; an item of a tuple stays what it is.
        """
        cheap = node.target in ("size", "operator.getitem") and not any(
            isinstance(value, Seq) for value in node.args
        )
        arithmetic = node.meta == "int" and node.target in INFIX
        used_once = len(self.users.get(node.name, ())) == 1 and node.name not in {
            ref.name for ref in self.graph.outputs
        }
        if not (cheap or arithmetic) or not (used_once or node.target == "size"):
            return False
        owner = node.args[0] if node.target == "operator.getitem" else None
        is_item = isinstance(owner, Ref) and isinstance(self.graph.find_meta(owner.name), tuple)
        return is_item or not self._meets_change(node)

    def _meets_change(self, node: Node) -> bool:
        """Whether something changes between a node and the last one that reads it."""
        users = self.users.get(node.name)
        between = (
            self.graph.nodes[self.order[node.name] + 1 : self.order[users[-1]]] if users else ()
        )
        return any(map(is_impure, between))

    def _write_expression(self, node: Node) -> str:
        if node.name in self.matches:
            match = self.matches[node.name]
            given = ", ".join(self.expressions.write_operand(value) for value in match.data)
            return f"{self._add_layer(match.layer)}({given})"
        match node.op:
            case "module":
                assert node.layer is not None
                return self.expressions.write_call(node, 0, self._add_layer(node.layer))
            case "method":
                return self.expressions.write_method(node)
            case "grad_mode":
                return f"torch.set_grad_enabled({write_literal(node.args[0])})"
            case "function" | "enter" | "exit" | "apply" | "opaque" | "stand_in":
                return self.expressions.write_function(node)
        assert_never(node.op)

    def _add_layer(self, layer: StockLayer) -> str:
        base = stock_layers.name_attribute(layer)
        self.layers[base] += 1
        name = f"{base}{self.layers[base]}"
        self.init.append(f"self.{name} = {write_constructor(layer)}")
        return f"self.{name}"


def _find_changed_parts(
    graph: Graph, users: Mapping[str, list[str]]
) -> dict[str, tuple[Node, Node]]:
    """`x[y] += z`, which Python takes apart: the assignment of a part of a tensor -> what reads
    that part and what changes it, where nobody else reads either and nothing is written meanwhile.
    """
    nodes = {node.name: node for node in graph.nodes}
    order = list(nodes)
    outputs = {ref.name for ref in graph.outputs}

    def find_maker(value: Value, user: Node) -> Node | None:
        """The node of a value that is for one user alone."""
        node = nodes.get(value.name) if isinstance(value, Ref) else None
        is_alone = node is not None and users[node.name] == [user.name]
        return node if node is not None and is_alone and node.name not in outputs else None

    found: dict[str, tuple[Node, Node]] = {}
    for node in graph.nodes:
        change = find_maker(node.args[2], node) if node.target == "operator.setitem" else None
        if change is None or change.target not in IN_PLACE:
            continue
        part = find_maker(change.args[0], change)
        if part is None or part.target != "operator.getitem" or part.args != node.args[:2]:
            continue
        between = graph.nodes[order.index(part.name) + 1 : order.index(node.name)]
        if not any(is_impure(each) for each in between if each is not change):
            found[node.name] = (part, change)
    return found


def emit(graph: Graph) -> ReproBody:
    """The graph as the body of a repro.

    Raises:
        NotPublicError: an argument or a function has no public form.
    """
    return Emitter(graph).build_body()


def _write_return(names: list[str]) -> str:
    if not names:
        return "return None"
    return f"return {names[0]}" if len(names) == 1 else f"return ({', '.join(names)},)"

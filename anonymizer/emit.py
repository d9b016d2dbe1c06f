"""From graph IR to the Python a person would write: stock layers in `__init__`, operators as operators, regions as `with`.

The text is valid but not formatted; black formats what is shown to people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from anonymizer import stock
from anonymizer.harness import Body
from anonymizer.ir import Atom, Graph, Input, Layer, Node, Ref, Seq, Value
from anonymizer.layouts import tensor_text, view

_INFIX = {
    "operator.add": "+", "operator.sub": "-", "operator.mul": "*", "operator.truediv": "/", "operator.floordiv": "//",
    "operator.mod": "%", "operator.pow": "**", "operator.matmul": "@", "operator.and_": "&", "operator.or_": "|",
    "operator.xor": "^", "operator.lshift": "<<", "operator.rshift": ">>", "operator.eq": "==", "operator.ne": "!=",
    "operator.lt": "<", "operator.le": "<=", "operator.gt": ">", "operator.ge": ">=",
}  # fmt: skip
_IN_PLACE = {
    "operator.iadd": "+=", "operator.isub": "-=", "operator.imul": "*=", "operator.itruediv": "/=", "operator.ifloordiv": "//=",
    "operator.imod": "%=", "operator.iand": "&=", "operator.ior": "|=", "operator.ixor": "^=", "operator.imatmul": "@=",
}  # fmt: skip
_PREFIX = {
    "operator.neg": "-",
    "operator.invert": "~",
    "operator.not_": "not ",
    "operator.pos": "+",
}
_BUILTINS = {"getattr", "int", "float", "max", "min", "len", "bool", "slice"}

#: Strings that torch's own functions take; every other string is private and stops the emission.
_STRINGS = frozenset(
    "floor trunc none mean sum reflect constant replicate circular bilinear bicubic nearest nearest-exact trilinear linear area "
    "ij xy tanh valid same reduced complete left right forward backward ortho fro nuc L U gels gelsy cpu cuda amax amin prod "
    "zeros border higher lower midpoint add multiply sum relu gelu batchmean erf float32 float64 float16 bfloat16 shape dtype device "
    "T mT H real imag grad requires_grad data ndim is_cuda is_floating_point".split()
)
_EINSUM = re.compile(r"^[a-zA-Z.,\-> ]{1,40}$")


class NotPublic(Exception):
    """The program holds something that may not leave: a string that is none of torch's."""


@dataclass
class _Names:
    """Generated public names, in the order of use."""

    taken: dict[str, str] = field(default_factory=dict)
    layers: dict[str, int] = field(default_factory=dict)

    def layer(self, cls: str) -> str:
        base = (
            re.sub(r"\d+d$", "", cls).lower()
            if cls.startswith("Conv")
            else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls).lower()
        )
        self.layers[base] = self.layers.get(base, 0) + 1
        return f"{base}{self.layers[base]}"


def literal(value: Value) -> str:
    """A constant argument as text."""
    if isinstance(value, Atom):
        return value.text
    if isinstance(value, Seq):
        return _sequence(value, [literal(item) for item in value.items if value.kind != "dict"])
    return repr(value)


def _sequence(value: Seq, items: list[str]) -> str:
    if value.kind == "list":
        return "[" + ", ".join(items) + "]"
    if value.kind == "tuple":
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
    if value.kind == "slice":
        return "slice(" + ", ".join(items) + ")"
    raise NotPublic("a dictionary argument")


class Emitter:
    """Emits one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.users = graph.users()
        self.names = _Names()
        self.text: dict[str, str] = {}
        self.init: list[str] = []
        self.matches = {
            node.name: match
            for node in graph.nodes
            if (match := stock.match(graph, node, self.users))
        }
        self.owned = {name for match in self.matches.values() for name in match.owns}
        self.sizes: dict[str, tuple[str, int]] = {}

    def body(self) -> Body:
        """Definitions and inputs of the graph as harness body."""
        arguments = [item for item in self.graph.inputs if item.kind == "input"]
        self._name_inputs(arguments)
        self._state()
        forward = self._forward()
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
            lines = [f"def repro({parameters}):", *("    " + line for line in forward)]
        return Body(
            "\n".join(lines),
            "Repro()" if is_module else "repro",
            tuple(self._inputs(arguments)),
            is_module,
            self._size_defaults(),
        )

    def _name_inputs(self, arguments: list[Input]) -> None:
        plain = ["x", "y", "z", "w"]
        for index, item in enumerate(arguments):
            self.text[item.name] = plain[index] if len(arguments) <= 4 else f"x{index}"

    def _state(self) -> None:
        loose = [i for i in self.graph.inputs if i.kind != "input" and i.name not in self.owned]
        for number, item in enumerate(loose, 1):
            name = f"{'weight' if item.kind == 'param' else 'buffer'}{number}"
            self.text[item.name] = f"self.{name}"
            made = self._tensor(item)
            if item.kind == "param":
                suffix = "" if item.meta.requires_grad else ", requires_grad=False"
                self.init.append(f"self.{name} = nn.Parameter({made}{suffix})")
            else:
                self.init.append(f'self.register_buffer("{name}", {made})')

    def _tensor(self, item: Input) -> str:
        return tensor_text(item.meta, item.recipe, self._dims(item))

    def _dims(self, item: Input) -> tuple[int | str, ...]:
        symbols = item.symbols or item.meta.shape
        return tuple(
            self._symbol(symbol, size) if isinstance(symbol, str) else size
            for symbol, size in zip(symbols, item.meta.shape)
        )

    def _symbol(self, symbol: str, size: int) -> int | str:
        if not re.fullmatch(r"[a-z]\d+", symbol) or len(self.graph.runs) < 2:
            return size
        if symbol not in self.sizes:
            self.sizes[symbol] = ("nmkhlpq"[len(self.sizes) % 7], size)
        return self.sizes[symbol][0]

    def _size_defaults(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.sizes.values())

    def symbols(self) -> tuple[str, ...]:
        """The symbolic sizes in the order in which `inputs` takes them; known once the body was made."""
        return tuple(self.sizes)

    def _inputs(self, arguments: list[Input]) -> list[str]:
        made = {item.name: self._argument(item) for item in arguments}
        if not any(item.alias for item in arguments):
            parts = [made[item.name] for item in arguments]
            return ["return ()"] if not parts else ["return (" + ", ".join(parts) + ",)"]
        lines = []
        for item in sorted(arguments, key=lambda item: item.alias is not None):
            lines.append(f"{self.text[item.name]} = {made[item.name]}")
        return [*lines, "return (" + ", ".join(self.text[item.name] for item in arguments) + ",)"]

    def _argument(self, item: Input) -> str:
        if item.alias is not None:
            owner = self.graph.input(item.alias.of)
            assert owner is not None
            return view(
                self.text.get(owner.name, owner.name), owner.meta, item.meta, item.alias.offset
            )
        text = self._tensor(item)
        return (
            text + ".requires_grad_()" if item.meta.requires_grad and item.meta.is_float else text
        )

    # -- forward ------------------------------------------------------------------------------------

    def _forward(self) -> list[str]:
        lines: list[str] = []
        depth: list[str] = []
        counter = 0
        outputs = [ref.name for ref in self.graph.outputs]
        for index, node in enumerate(self.graph.nodes):
            indent = "    " * len(depth)
            if node.op == "enter":
                depth.append(node.name)
                lines.append(f"{indent}with {self._call(node)}:")
                continue
            if node.op == "exit":
                if depth:
                    depth.pop()
                continue
            if node.target in _IN_PLACE:  # a statement, which has no expression
                name = f"v{counter}"
                counter += 1
                self.text[node.name] = name
                lines.append(f"{indent}{name} = {self._arg(node.args[0])}")
                lines.append(f"{indent}{name} {_IN_PLACE[node.target]} {self._arg(node.args[1])}")
                continue
            expression = self._expression(node)
            last = index == len(self.graph.nodes) - 1
            if last and outputs == [node.name] and not depth:
                lines.append(f"{indent}return {expression}")
                return lines
            if self._inlined(node, index):
                self.text[node.name] = expression
                continue
            if node.name not in self.users and node.name not in outputs:
                lines.append(indent + expression)
                continue
            name = f"v{counter}"
            counter += 1
            self.text[node.name] = name
            lines.append(f"{indent}{name} = {expression}")
        names = [self.text[name] for name in outputs]
        lines.append(
            "return "
            + (names[0] if len(names) == 1 else "(" + ", ".join(names) + ",)" if names else "None")
        )
        return lines

    def _inlined(self, node: Node, index: int) -> bool:
        """Sizes and single items are written where they are used, if used once and nothing changes in between."""
        cheap = node.target in ("size", "operator.getitem") and not any(
            isinstance(value, Seq) for value in node.args
        )
        arithmetic = node.meta == "int" and node.target in _INFIX
        used_once = len(self.users.get(node.name, ())) == 1 and node.name not in {
            ref.name for ref in self.graph.outputs
        }
        return (cheap or arithmetic) and (used_once or node.target == "size")

    def _arg(self, value: Value) -> str:
        if isinstance(value, Ref):
            text = self.text[value.name]
            return f"({text})" if re.search(r" [-+*/%@&|^<>=]+ ", text) else text
        if isinstance(value, Seq):
            if value.kind == "slice":
                return _sequence(value, [self._arg(item) for item in value.items])
            return _sequence(value, [self._arg(item) for item in value.items])
        if isinstance(value, str) and value not in _STRINGS:
            if not _EINSUM.match(value) or not ("," in value or "->" in value):
                raise NotPublic("a string argument")
        return literal(value)

    def _bare(self, value: Value) -> str:
        """An argument between commas, where an expression needs no parentheses."""
        return self.text[value.name] if isinstance(value, Ref) else self._arg(value)

    def _call(self, node: Node, skip: int = 0, function: str | None = None) -> str:
        if node.op == "enter":
            return self._region(node)
        arguments = [self._bare(value) for value in node.args[skip:]]
        arguments += [f"{key}={self._bare(value)}" for key, value in node.kwargs if _keyword(key)]
        return f"{function or _function(node.target)}({', '.join(arguments)})"

    def _region(self, node: Node) -> str:
        if node.target == "torch.inference_mode":
            return (
                "torch.inference_mode()"
                if node.args in ((), (True,))
                else f"torch.inference_mode({literal(node.args[0])})"
            )
        device, dtype, enabled = (*node.args, None, True)[:3]
        shown = (
            f", dtype={literal(dtype)}" if isinstance(dtype, Atom) and enabled is not False else ""
        )
        switch = ", enabled=False" if enabled is False else ""
        return f'torch.autocast("{device}"{shown}{switch})'

    def _expression(self, node: Node) -> str:
        if node.name in self.matches:
            match = self.matches[node.name]
            return f"{self._layer(match.layer, node)}({', '.join(self._arg(value) for value in match.data)})"
        if node.op == "module":
            assert node.layer is not None
            return self._call(node, 0, self._layer(node.layer, node))
        if node.op == "method":
            return f"{_receiver(self._arg(node.args[0]))}.{self._call(node, 1, node.target)}"
        if node.op == "grad_mode":
            return f"torch.set_grad_enabled({literal(node.args[0])})"
        return self._function_text(node)

    def _function_text(self, node: Node) -> str:
        target = node.target
        if target in _INFIX and len(node.args) == 2:
            return f"{self._arg(node.args[0])} {_INFIX[target]} {self._arg(node.args[1])}"
        if target in _PREFIX:
            return f"{_PREFIX[target]}{self._arg(node.args[0])}"
        if target == "getattr":
            if not isinstance(node.args[1], str) or node.args[1] not in _STRINGS:
                raise NotPublic("an attribute")
            return f"{_receiver(self._arg(node.args[0]))}.{node.args[1]}"
        if target == "operator.getitem":
            return f"{_receiver(self._arg(node.args[0]))}[{self._index(node.args[1])}]"
        if target == "operator.setitem":
            return f"{self._arg(node.args[0])}[{self._index(node.args[1])}] = {self._arg(node.args[2])}"
        return self._call(node)

    def _index(self, value: Value) -> str:
        if isinstance(value, Seq) and value.kind == "tuple":
            return ", ".join(self._index(item) for item in value.items) + (
                "," if len(value.items) == 1 else ""
            )
        if isinstance(value, Seq) and value.kind == "slice":
            start, stop, step = (("" if item is None else self._arg(item)) for item in value.items)
            return f"{start}:{stop}" + (f":{step}" if step else "")
        return self._arg(value)

    def _layer(self, layer: Layer, node: Node) -> str:
        name = self.names.layer(layer.cls)
        shown = []
        for position, (key, value) in enumerate(layer.kwargs):
            bare = position < 3 and key in _POSITIONAL.get(layer.cls, ())
            shown.append(literal(value) if bare else f"{key}={literal(value)}")
        self.init.append(f"self.{name} = nn.{layer.cls}({', '.join(shown)})")
        return f"self.{name}"


_POSITIONAL = {
    "Linear": ("in_features", "out_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "LayerNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    "PReLU": ("num_parameters",),
    **{f"Conv{n}d": ("in_channels", "out_channels", "kernel_size") for n in (1, 2, 3)},
}


def _keyword(key: str) -> bool:
    return key.isidentifier()


def _receiver(text: str) -> str:
    return (
        text
        if re.fullmatch(r"[\w.\[\]]+(\(.*\))?", text) and not re.search(r" [-+*/%@&|^<>=]+ ", text)
        else f"({text})"
    )


#: Functions of torch._C._nn that torch.nn.functional offers under the same name and with the same arguments.
_FUNCTIONAL = {
    "pad",
    "one_hot",
    "scaled_dot_product_attention",
    "linear",
    "gelu",
    "softplus",
    "leaky_relu",
}


def _function(target: str) -> str:
    short = target.rsplit(".", 1)[-1]
    if target.startswith("torch._C._nn.") and short in _FUNCTIONAL:
        return "F." + short
    if target.startswith("torch.nn.functional."):
        return "F." + target.rsplit(".", 1)[-1]
    if target.startswith(("torch.", "math.")) or target in _BUILTINS:
        return target
    if target.startswith("operator."):
        raise NotPublic(target)
    raise NotPublic("a function")


def emit(graph: Graph) -> Body:
    """The graph as the body of a repro. Raises `NotPublic` if it holds what may not leave."""
    return Emitter(graph).body()

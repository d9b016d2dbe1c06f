"""Expressions of the graph IR as Python: operators as operators, everything by its public name.

What has none raises `NotPublicError`, so no text is written that holds a private word.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from anonymizer.graph.ir import Atom, Node, Ref, Seq, StockLayer, Value
from anonymizer.kinds import assert_never

INFIX = {
    "operator.add": "+", "operator.sub": "-", "operator.mul": "*", "operator.truediv": "/",
    "operator.floordiv": "//",
    "operator.mod": "%", "operator.pow": "**", "operator.matmul": "@", "operator.and_": "&",
    "operator.or_": "|",
    "operator.xor": "^", "operator.lshift": "<<", "operator.rshift": ">>", "operator.eq": "==",
    "operator.ne": "!=",
    "operator.lt": "<", "operator.le": "<=", "operator.gt": ">", "operator.ge": ">=",
}  # fmt: skip
IN_PLACE = {
    "operator.iadd": "+=", "operator.isub": "-=", "operator.imul": "*=", "operator.itruediv": "/=",
    "operator.ifloordiv": "//=",
    "operator.imod": "%=", "operator.iand": "&=", "operator.ior": "|=", "operator.ixor": "^=",
    "operator.imatmul": "@=", "operator.ipow": "**=", "operator.ilshift": "<<=",
    "operator.irshift": ">>=",
}  # fmt: skip
#: Methods by which Python's operators reach a tensor: on its left, and on its right (`2 ** x`).
SPECIAL_METHODS = {
    "__and__": "&", "__or__": "|", "__xor__": "^", "__lshift__": "<<", "__rshift__": ">>",
    "__floordiv__": "//", "__truediv__": "/",
}  # fmt: skip
REFLECTED_METHODS = {
    "__rsub__": "-", "__rpow__": "**", "__rdiv__": "/", "__rtruediv__": "/", "__rfloordiv__": "//",
    "__rmatmul__": "@", "__rmod__": "%",
    "__rlshift__": "<<", "__rrshift__": ">>",
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
    "floor trunc none mean sum reflect constant replicate circular bilinear bicubic nearest"
    " nearest-exact trilinear linear area ij xy tanh valid same reduced complete left right forward"
    " backward ortho fro nuc L U gels gelsy gelsd gelss gesvd gesvda gesvdj raw hamming reflection"
    " use_mm_for_euclid_dist donot_use_mm_for_euclid_dist use_mm_for_euclid_dist_if_necessary"
    " medium high highest cpu cuda amax amin prod zeros border higher lower"
    " midpoint add multiply sum max min any all raise clip wrap relu gelu batchmean erf"
    " float32 float64 float16 bfloat16 shape r"
    " dtype device T mT H mH real imag grad requires_grad data ndim is_cuda"
    " is_floating_point".split()
)
_EINSUM = re.compile(r"^[a-zA-Z.,\-> ]{1,40}$")


class NotPublicError(Exception):
    """The program holds something that may not leave: a string that is none of torch's."""


def write_literal(value: Value) -> str:
    """A constant argument as text, such as `(3, torch.float32)`.

    Raises:
        NotPublicError: it is a dict.
    """
    if isinstance(value, Atom):
        return value.text
    if isinstance(value, Seq):
        return _write_sequence(
            value, [write_literal(item) for item in value.items if value.kind != "dict"]
        )
    return repr(value)


def _write_sequence(value: Seq, items: list[str]) -> str:
    match value.kind:
        case "list":
            return "[" + ", ".join(items) + "]"
        case "tuple":
            return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
        case "slice":
            return "slice(" + ", ".join(items) + ")"
        case "dict":
            raise NotPublicError("a dictionary argument")
    assert_never(value.kind)


def _write_nothing(value: Value) -> str:
    return ""


class ExpressionWriter:
    """Writes nodes of the graph IR as expressions.

    `read` gives the expression of a value by the value's name. `constant` gives the text of a
    constant that is not written as `write_literal` does, and "" for all others.
    """

    def __init__(
        self, read: Callable[[str], str], constant: Callable[[Value], str] = _write_nothing
    ) -> None:
        self._read = read
        self._constant = constant

    def write_operand(self, value: Value) -> str:
        """A value next to an operator: in parentheses where it has an operator itself.

        Raises:
            NotPublicError: it is a string, and none of torch's.
        """
        if isinstance(value, Ref):
            text = self._read(value.name)
            return f"({text})" if _is_compound(text) else text
        if other := self._constant(value):
            return other
        if isinstance(value, Seq):
            return _write_sequence(value, [self.write_operand(item) for item in value.items])
        if isinstance(value, str) and value not in _STRINGS:
            if not _EINSUM.match(value) or not ("," in value or "->" in value):
                raise NotPublicError("a string argument")
        return write_literal(value)

    def write_argument(self, value: Value) -> str:
        """A value between commas, where nothing needs parentheses.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        return self._read(value.name) if isinstance(value, Ref) else self.write_operand(value)

    def write_call(self, node: Node, skip: int = 0, function: str | None = None) -> str:
        """The call of a node. A node that opens a region becomes what stands after `with`.

        Args:
            skip: how many of its first arguments are left out: 1 for a method, whose receiver
                stands before its name.
            function: what is called, as an expression; None: the public name of the node's target.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        if node.op == "enter":
            return _write_region(node)
        arguments = [self.write_argument(value) for value in node.args[skip:]]
        arguments += [
            f"{key}={self.write_argument(value)}" for key, value in node.kwargs if _is_keyword(key)
        ]
        return f"{function or _name_function(node.target)}({', '.join(arguments)})"

    def write_method(self, node: Node) -> str:
        """`x.sum(dim=1)` for a node whose first argument is the receiver, `2 ** x` for one that an
        operator of Python calls.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        if len(node.args) == 2 and not node.kwargs:
            left, right = node.args
            if node.target in SPECIAL_METHODS:
                return self._write_infix(left, SPECIAL_METHODS[node.target], right)
            # a tensor on the left would be asked first, by another method
            if node.target in REFLECTED_METHODS and not isinstance(right, Ref):
                return self._write_infix(right, REFLECTED_METHODS[node.target], left)
        receiver = _write_receiver(self.write_operand(node.args[0]))
        return f"{receiver}.{self.write_call(node, 1, node.target)}"

    def write_function(self, node: Node) -> str:
        """A function of torch or of Python; the functions of `operator` become operators.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        target = node.target
        if target in INFIX and len(node.args) == 2:
            return self._write_infix(node.args[0], INFIX[target], node.args[1])
        if target in _PREFIX:
            return f"{_PREFIX[target]}{self.write_operand(node.args[0])}"
        if target == "getattr":
            if not isinstance(node.args[1], str) or node.args[1] not in _STRINGS:
                raise NotPublicError("an attribute")
            return f"{_write_receiver(self.write_operand(node.args[0]))}.{node.args[1]}"
        if target == "operator.getitem":
            owner = _write_receiver(self.write_operand(node.args[0]))
            return f"{owner}[{self._write_index(node.args[1])}]"
        if target == "operator.setitem":
            owner = self.write_operand(node.args[0])
            return (
                f"{owner}[{self._write_index(node.args[1])}] = {self.write_operand(node.args[2])}"
            )
        return self.write_call(node)

    def _write_infix(self, left: Value, sign: str, right: Value) -> str:
        base = self.write_operand(left)
        if sign == "**" and base.startswith("-"):  # -2 ** x is -(2 ** x)
            base = f"({base})"
        return f"{base} {sign} {self.write_operand(right)}"

    def _write_index(self, value: Value) -> str:
        if isinstance(value, Seq) and value.kind == "tuple" and value.items:
            return ", ".join(self._write_index(item) for item in value.items) + (
                "," if len(value.items) == 1 else ""
            )
        if isinstance(value, Seq) and value.kind == "slice":
            start, stop, step = (
                ("" if item is None else self.write_operand(item)) for item in value.items
            )
            return f"{start}:{stop}" + (f":{step}" if step else "")
        return self.write_operand(value)


def _write_region(node: Node) -> str:
    if node.target == "torch.inference_mode":
        return (
            "torch.inference_mode()"
            if node.args in ((), (True,))
            else f"torch.inference_mode({write_literal(node.args[0])})"
        )
    device, dtype, enabled = (*node.args, None, True)[:3]
    shown = (
        f", dtype={write_literal(dtype)}"
        if isinstance(dtype, Atom) and enabled is not False
        else ""
    )
    switch = ", enabled=False" if enabled is False else ""
    return f'torch.autocast("{device}"{shown}{switch})'


def write_constructor(layer: StockLayer) -> str:
    """The call that makes a stock layer: `nn.Linear(8, 16, bias=False)`.

    What a call usually gives by position stands without its keyword.

    Raises:
        NotPublicError: it holds what may not leave.
    """
    shown = []
    for position, (key, value) in enumerate(layer.kwargs):
        bare = position < 3 and key in _POSITIONAL.get(layer.cls, ())
        shown.append(write_literal(value) if bare else f"{key}={write_literal(value)}")
    return f"nn.{layer.cls}({', '.join(shown)})"


_POSITIONAL = {
    "Linear": ("in_features", "out_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "LayerNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    "PReLU": ("num_parameters",),
    **{f"BatchNorm{n}d": ("num_features",) for n in (1, 2, 3)},
    **{f"Conv{n}d": ("in_channels", "out_channels", "kernel_size") for n in (1, 2, 3)},
}


def _is_keyword(key: str) -> bool:
    return key.isidentifier()


def _is_compound(text: str) -> bool:
    """Whether an expression has an operator outside of all brackets."""
    if text.startswith(("-", "~", "not ")):
        return True
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if not depth and char == " " and re.match(r" [-+*/%@&|^<>=!]+ ", text[index:]):
            return True
    return False


def _write_receiver(text: str) -> str:
    bare = re.fullmatch(r"[\w.]*([(\[].*[)\]])?", text) and not text[0].isdigit()
    return text if bare and not _is_compound(text) else f"({text})"


#: Functions of torch._C._nn that torch.nn.functional offers under the same name and with the same
#: arguments.
_FUNCTIONAL = {
    "pad",
    "one_hot",
    "scaled_dot_product_attention",
    "linear",
    "gelu",
    "softplus",
    "leaky_relu",
}


def _name_function(target: str) -> str:
    module, _, name = target.rpartition(".")
    if target == "operator.abs":
        return "abs"
    if module == "torch.nn.functional" or module == "torch._C._nn" and name in _FUNCTIONAL:
        return "F." + name
    if target.startswith(("torch.", "math.")) or target in _BUILTINS:
        return target
    if target.startswith("operator."):
        raise NotPublicError(target)
    raise NotPublicError("a function")

"""Operations of a trace as expressions: tensor methods that have an operator are written with
it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from anonymizer.graph.expressions import Expressions
from anonymizer.graph.ir import Node, Value

_INFIX_METHODS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@", "pow": "**", "__and__": "&",
    "__or__": "|", "__xor__": "^",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "__floordiv__": "//",
    "remainder": "%",
    "__truediv__": "/", "__lshift__": "<<", "__rshift__": ">>",
}  # fmt: skip
_SWAPPED = {
    "__rsub__": "-", "__rpow__": "**", "__rdiv__": "/", "__rtruediv__": "/", "__rfloordiv__": "//",
    "__rmatmul__": "@", "__rmod__": "%",
    "__rlshift__": "<<", "__rrshift__": ">>",
}  # fmt: skip
_PREFIX = {"neg": "-", "bitwise_not": "~"}


def root(value: Value) -> str:
    """`math.sqrt(12)` for 3.4641016151377544, by which a person divides attention scores; else
    nothing.
    """
    if type(value) is not float or not 1 < value < 1024 or value.is_integer():
        return ""
    square = round(value * value)
    return f"math.sqrt({square})" if math.sqrt(square) == value else ""


class Operations(Expressions):
    """Expressions of what a torch function mode saw."""

    def _arg(self, value: Value) -> str:
        return root(value) or super()._arg(value)

    def _operation(self, node: Node) -> str:
        return self._method_expression(node) if node.op == "method" else self._function_text(node)

    def _method_expression(self, node: Node) -> str:
        target = node.target
        if len(node.args) == 2 and not node.kwargs:
            if target in _INFIX_METHODS:
                return (
                    f"{self._arg(node.args[0])} {_INFIX_METHODS[target]} {self._arg(node.args[1])}"
                )
            if target in _SWAPPED:
                return f"{self._arg(node.args[1])} {_SWAPPED[target]} {self._arg(node.args[0])}"
        if target in _PREFIX and len(node.args) == 1:
            return f"{_PREFIX[target]}{self._arg(node.args[0])}"
        if target in ("__getitem__", "__setitem__"):
            return self._function_text(replace(node, target=f"operator.{target.strip('_')}"))
        return self._method_text(node)

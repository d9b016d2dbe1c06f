"""Operations of a trace as expressions: tensor methods that have an operator are written with
it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from anonymizer.graph.expressions import SPECIAL_METHODS, ExpressionWriter
from anonymizer.graph.ir import Node, Value

_INFIX_METHODS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@", "pow": "**",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "remainder": "%",
    **SPECIAL_METHODS,
}  # fmt: skip
_PREFIX = {"neg": "-", "bitwise_not": "~"}


def write_square_root(value: Value) -> str:
    """`math.sqrt(12)` for 3.4641016151377544, by which a person divides attention scores; else
    nothing.
    """
    if type(value) is not float or not 1 < value < 1024 or value.is_integer():
        return ""
    square = round(value * value)
    return f"math.sqrt({square})" if math.sqrt(square) == value else ""


def write_operation(node: Node, expressions: ExpressionWriter) -> str:
    """What a torch function mode saw, as an expression.

    Raises:
        NotPublicError: it holds what may not leave.
    """
    if node.op != "method":
        return expressions.write_function(node)
    target = node.target
    write = expressions.write_operand
    if len(node.args) == 2 and not node.kwargs:
        first, second = node.args
        if target in _INFIX_METHODS:
            return f"{write(first)} {_INFIX_METHODS[target]} {write(second)}"
    if target in _PREFIX and len(node.args) == 1:
        return f"{_PREFIX[target]}{write(node.args[0])}"
    if target in ("__getitem__", "__setitem__"):
        return expressions.write_function(replace(node, target=f"operator.{target.strip('_')}"))
    return expressions.write_method(node)

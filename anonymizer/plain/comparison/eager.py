"""Eager mode alone: a function of torch beside float64, and its derivatives beside finite
differences or each other.
"""

from __future__ import annotations

import ast
import re

from anonymizer.graph.repro import DERIVATIVE_CHECKS
from anonymizer.kinds import WRONG_VALUES
from anonymizer.plain.comparison.call import PlainCall
from anonymizer.plain.script.parts import Script


def check_eager(call: PlainCall, alone: str) -> list[str]:
    """The program as it is; wrong values beside those that float64 gives, derivatives beside finite
    differences or each other.

    Args:
        alone: the program as one expression of its arguments; "" where it is called.

    Raises:
        ValueError: float64 needs other weights, or no argument has a wider form.
    """
    if call.assertion.backward in DERIVATIVE_CHECKS:
        checked = DERIVATIVE_CHECKS[call.assertion.backward]
        return [checked.format(call.eager, call.listed, call.write(call.eager))]
    called = alone or call.write(call.eager)
    if call.assertion.kind not in WRONG_VALUES:
        return [call.differentiate(called)]
    wide = [name for name in call.names if not call.is_whole(name)]
    if call.script.called.is_module or not wide:
        raise ValueError("float64 needs a program without weights")
    exact = re.sub(rf"\b({'|'.join(wide)})\b(?!\()", lambda found: call.widen(found[1]), called)
    lines = [f"actual = {called}", f"expected = {exact}.to(actual.dtype)"]
    return [*lines, call.write_close("actual", "expected")]


def find_returned_expression(script: Script) -> str:
    """What a function returns, if that is all that it does; else nothing."""
    tree = ast.parse(script.definitions).body
    function = tree[0] if len(tree) == 1 else None
    if not isinstance(function, ast.FunctionDef) or len(function.body) != 1:
        return ""
    returned = function.body[0]
    given = [name for name, _ in script.arguments]
    if not isinstance(returned, ast.Return) or returned.value is None:
        return ""
    return ast.unparse(returned.value) if [a.arg for a in function.args.args] == given else ""

"""Programs as the target side would have gathered them, made by hand: for tests of what is then
made of them.
"""

from __future__ import annotations

import ast
from typing import Any

from anonymizer.source.rewriting import SourceProgram, rebuild
from tests.support.scripts import text

LONG = """
def secret(x, unused):
    kept = torch.relu(x)
    gone = torch.sin(kept) + 12345
    if gone.sum() > 0:
        with torch.no_grad():
            kept = torch.add(kept, x, alpha=7)
    for secret_step in range(3):
        kept = kept * 0.123456
    return kept, gone
"""


def module_text(program: SourceProgram) -> str:
    """A complete module in the manner of a repro, without its assertion."""
    inputs = ["def inputs():", *("    " + line for line in program.write_inputs())]
    call = f"def CALLABLE():\n    return {program.callable_expression}"
    return "\n".join([*program.write_imports(), program.write_definitions(), *inputs, call, ""])


def program_of(name: str, callable_expression: str = "Repro()") -> SourceProgram:
    """A program that is written down under tests/data/scripts, called with two ones."""
    return SourceProgram(ast.parse(text(name)), callable_expression, ones())


def function_of(name: str, function: str) -> SourceProgram:
    """A program of one function of a file under tests/data/scripts."""
    (found,) = (
        node
        for node in ast.parse(text(name)).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    return SourceProgram(ast.Module([found], []), function, ones())


def ones() -> ast.Module:
    """The body of a function that makes the inputs: two ones."""
    return ast.parse("return (torch.ones(2),)")


def handmade(source: str, args: int = 1) -> dict[str, Any]:
    """A gathered function that uses nothing but torch."""
    spec = {
        "shape": [2, 6],
        "stride": [6, 1],
        "offset": 0,
        "dtype": "float32",
        "device": "cpu",
        "requires_grad": False,
        "is_parameter": False,
        "layout": "strided",
        "stats": {"numel": 12, "min": -1.0, "max": 1.0},
    }
    torch = {"kind": "module", "name": "torch"}
    names = {name: {"kind": "torch", "name": f"torch.{name}"} for name in ("relu", "sin", "add")}
    record = {
        "name": "secret",
        "source": source,
        "refs": {"torch": torch},
        "chains": {f"torch.{name}": ref for name, ref in names.items()},
        "defaults": [],
        "kwdefaults": {},
    }
    return {
        "entry": {"kind": "function", "id": "f0"},
        "args": [{"kind": "tensor", "id": f"t{index}"} for index in range(args)],
        "kwargs": {},
        "backend": None,
        "functions": {"f0": record},
        "classes": {},
        "instances": {},
        "tensors": {f"t{index}": spec for index in range(args)},
        "storages": [],
        "problems": [],
    }


def long_program() -> SourceProgram:
    """A program with a branch, a context, a loop and numbers that are nobody's."""
    return rebuild(handmade(LONG, 2), {"relu", "sum", "add", "sin", "no_grad", "alpha"})

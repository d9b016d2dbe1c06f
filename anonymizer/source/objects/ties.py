"""Makes parameters and sub-modules that the private program shares shared in the public one."""

from __future__ import annotations

import ast

from anonymizer.source.objects.context import ProgramContext
from collectors.protocol.program_source import Reference

#: Objects within objects are followed so far.
_DEEP = 12


def tie(context: ProgramContext, root: str, key: str) -> list[ast.stmt]:
    """Assignments that make parameters and sub-modules of an instance shared again.

    Args:
        context: has the record of the instance and the public names of its attributes.
        root: the expression of the instance in the public program.
        key: its id among the gathered instances.

    Returns:
        Statements for behind its construction; none where nothing is shared.
    """
    first: dict[str, str] = {}
    lines: list[str] = []

    def visit(path: str, ref: Reference, depth: int) -> None:
        if ref["kind"] in ("tensor", "instance"):
            if ref["id"] in first and depth:
                lines.append(f"{path} = {first[ref['id']]}")
                return
            first[ref["id"]] = path
        if ref["kind"] != "instance" or depth > _DEEP:
            return
        record = context.symbols.get_instance(ref["id"])
        for name, tensor in record.get("parameters", {}).items():
            if tensor is not None:
                visit(f"{path}.{name}", {"kind": "tensor", "id": tensor}, depth + 1)
        for name, each in record.get("items", ()):
            inner = f"[{name}]" if name.isdecimal() else f"[{context.names.name_attribute(name)!r}]"
            visit(path + inner, each, depth + 1)
        for name, each in record["state"].items():
            if record["module"]:
                visit(f"{path}.{context.decisions.name_state(name)}", each, depth + 1)

    visit(root, {"kind": "instance", "id": key}, 0)
    return list(ast.parse("\n".join(lines)).body)

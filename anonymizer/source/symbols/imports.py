"""Modules that a public program may import, and the statements that import them."""

from __future__ import annotations

import ast

from anonymizer.graph.identifiers import find_names

#: Standard modules a private program may lean on; a name from elsewhere is reported as a problem.
STDLIB = frozenset("""
    math operator functools itertools collections contextlib dataclasses enum typing abc copy random
    warnings types logging re string time inspect numbers cmath statistics weakref threading os sys
    """.split())
#: Modules beside torch whose names everybody knows.
KNOWN_MODULES = STDLIB | {"numpy"}
#: Modules that `import torch` alone does not bring in every release from 2.0 on.
_SUBMODULES = (
    "torch.utils.checkpoint",
    "torch.nn.attention.flex_attention",
    "torch.nn.attention",
    "torch._dynamo",
    "torch._inductor",
    "torch._higher_order_ops",
    "torch.export",
    "torch.fx.experimental.proxy_tensor",
    "torch.distributed._functional_collectives",
    "torch.distributed._tensor",
    "torch.distributed.device_mesh",
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
    "torch.distributed.tensor",
    "torch.testing._internal.distributed.fake_pg",
)


def write_imports(*trees: ast.AST) -> list[str]:
    """`import` statements for the dotted names in public trees, in the usual order.

    One a line; "" parts the standard library from torch, which is always among them.
    """
    names = find_names(*trees)
    modules = {"torch"}
    for tree in trees:
        for part in ast.walk(tree):
            if isinstance(part, ast.Attribute):
                dotted = ast.unparse(part).split(".")
                if dotted[0] == "torch":
                    modules.add(_find_submodule(dotted))
                elif dotted[0] in KNOWN_MODULES and len(dotted) == 2:
                    modules.add(dotted[0])
    python = sorted(each for each in modules if not each.startswith("torch"))
    lines = [f"import {each}" for each in python]
    lines += [""] if lines else []
    lines += [f"import {each}" for each in sorted(modules - set(python))]
    if "F" in names:
        lines.append("import torch.nn.functional as F")
    if "nn" in names:
        lines.append("from torch import nn")
    return lines


def _find_submodule(dotted: list[str]) -> str:
    text = ".".join(dotted)
    return next(
        (each for each in _SUBMODULES if text == each or text.startswith(each + ".")), "torch"
    )

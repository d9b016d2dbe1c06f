"""Names of torch's inner modules in a flat script."""

from __future__ import annotations

import ast

from anonymizer.plain.imported_names import import_names

IMPORTS = ("import torch", "import torch.distributed.tensor", "from torch import nn")


def shorten(text: str) -> tuple[tuple[str, ...], str]:
    tree = ast.parse(text)
    imports = import_names(tree.body, IMPORTS)
    return imports, ast.unparse(tree)


def test_what_an_inner_module_offers_is_imported_by_name() -> None:
    imports, text = shorten(
        "x = torch.distributed.tensor.DTensor.from_local("
        "torch.ones(2), [torch.distributed.tensor.Replicate()])"
    )
    assert text == "x = DTensor.from_local(torch.ones(2), [Replicate()])"
    line = "from torch.distributed.tensor import DTensor, Replicate"
    assert imports == (IMPORTS[0], line, IMPORTS[2])


def test_a_name_that_the_script_has_keeps_its_path() -> None:
    text = "def Shard(x):\n    return torch.distributed.tensor.Shard(0)"
    assert shorten(text) == (IMPORTS, text)
    imports, text = shorten(f"{text}\ny = torch.distributed.tensor.Partial()")
    line = "from torch.distributed.tensor import Partial"
    assert imports == (IMPORTS[0], IMPORTS[1], line, IMPORTS[2])
    assert text.endswith("y = Partial()")

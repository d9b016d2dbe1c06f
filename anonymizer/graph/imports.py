"""The import statements of a generated script, told from its text."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NEEDED = {
    r"(?<![\w.])copy\.": "import copy",
    r"\bmath\.": "import math",
    r"\bsys\.": "import sys",
    r"(?<![\w.])unittest\.": "import unittest",
    r"torch\.utils\.checkpoint\.": "import torch.utils.checkpoint",
    r"(?<!torch\.)\bnn\.": "from torch import nn",
    r"\bF\.": "import torch.nn.functional as F",
}


def list_imports(text: str, known: Iterable[str] = ()) -> list[str]:
    """The statements that a text needs, each once, the standard library first; "" parts the groups.

    Args:
        text: the program and what stands around it.
        known: import statements that it has besides.
    """
    found = {"import torch", *known}
    found |= {line for pattern, line in _NEEDED.items() if re.search(pattern, text)}
    own = [line for line in found if "torch" in line]
    others = sorted(line for line in found if line and line not in own)
    return [
        *others,
        *([""] if others else []),
        *sorted(own, key=lambda line: (line.startswith("from"), line)),
    ]


def is_used(line: str, text: str) -> bool:
    """Whether a script needs the import statement `line`, that is, names in its `text` what the
    statement binds; those of settings and torch itself are always needed.
    """
    if (
        line == "import torch"
        or line.endswith(".config")
        or not line.startswith(("import ", "from "))
    ):
        return True
    name = re.split(r"\s+as\s+|\s+import\s+|,", line.removeprefix("import "))[-1].strip()
    return re.search(rf"\b{re.escape(name)}\b", text) is not None

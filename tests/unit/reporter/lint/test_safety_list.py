"""What a program can do beside computing is found under whatever name it was imported."""

from __future__ import annotations

import ast

import pytest

from reporter.lint.safety_list import find_unsafe_statements


def find(text: str) -> list[tuple[str, str]]:
    return [(item.kind, item.what) for item in find_unsafe_statements(ast.parse(text), text)]


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("from os import *\nsystem('x')", "shell", "os.system"),
        ("from os import *\nexecv('x', [])", "shell", "os.execv"),
        ("from os import *\ngetenv('HOST')", "environment", "HOST"),
        ("from torch import *\nload('x')", "pickle", "torch.load"),
        ("import builtins\nbuiltins.eval('1')", "eval", "eval"),
        ("from builtins import exec as run\nrun('1')", "eval", "exec"),
        ("np.load('x', allow_pickle=True)", "pickle", "np.load(allow_pickle)"),
        ("np.load('x', allow_pickle=trust)", "pickle", "np.load(allow_pickle)"),
        ("from pathlib import Path\nPath('x').unlink()", "file", "pathlib.Path().unlink"),
        ("p.symlink_to('x')", "file", "p.symlink_to"),
        ("import torch\ntorch.hub.load('x')", "network", "torch.hub.load"),
        ("import torch.hub as hub\nhub.load('x')", "network", "torch.hub.load"),
    ],
)
def test_a_name_from_elsewhere_is_the_same_thing(text: str, kind: str, what: str) -> None:
    assert (kind, what) in find(text)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.hubris()",
        "import torch\ntorch.distributed_sum(x)",
        "np.load('x', allow_pickle=False)",
        "from math import *\nsystem(1)",
        "from os import *\nsum([1])",
        "x.replace('a', 'b')",
    ],
)
def test_what_is_only_called_alike_is_none_of_it(text: str) -> None:
    assert find(text) == []

"""How common a chain of operators is in models that everybody has: those of well-known packages
that are installed here.

Their sources are read as text and as syntax trees; nothing is imported.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reporter.core.operation_names import READS

#: Packages with models or layers, and the folder that holds them.
PACKAGES = {
    "torch": "nn",
    "torchvision": "models",
    "torchaudio": "models",
    "torchtune": "models",
    "timm": "",
    "transformers": "models",
    "diffusers": "models",
    "sentence_transformers": "models",
    "torch_geometric": "nn",
    "segmentation_models_pytorch": "",
    "open_clip": "",
    "speechbrain": "lobes",
    "monai": "networks",
    "ultralytics": "nn",
    "kornia": "",
    "detectron2": "modeling",
    "fairseq": "models",
    "xformers": "components",
}
#: From this many functions on a chain is common.
COMMON = 10
#: Files that are read, at most.
_MOST_FILES = 4000
_SIGNS: dict[type[ast.operator], str] = {
    ast.MatMult: "matmul",
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordivide",
    ast.Mod: "remainder",
    ast.Pow: "pow",
}

Commonness = Literal["none", "some", "common"]


@dataclass(frozen=True)
class ChainUse:
    """In how many functions of which packages the operators follow each other."""

    functions: int
    packages: tuple[str, ...]

    @property
    def commonness(self) -> Commonness | None:
        """None where no package was there to be looked at."""
        if not self.packages:
            return None
        if self.functions >= COMMON:
            return "common"
        return "some" if self.functions else "none"


@functools.lru_cache(maxsize=16)
def find_chain(operators: tuple[str, ...], sites: tuple[Path, ...]) -> ChainUse:
    """Looks for a chain of operators, in this order, with others between them or not.

    Args:
        operators: names as a report has them, `torch.nn.functional.relu`.
        sites: folders with installed packages.
    """
    wanted = [word for word in map(_normalize_word, operators) if word]
    packages: dict[str, Path] = {}
    for site in sites:
        for name, folder in PACKAGES.items():
            if (site / name / "__init__.py").is_file():
                packages.setdefault(name, site / name / folder)
    if not wanted:
        return ChainUse(0, ())
    files = [path for folder in packages.values() for path in sorted(folder.rglob("*.py"))]
    count = sum(_count_uses(path, wanted) for path in files[:_MOST_FILES])
    return ChainUse(count, tuple(sorted(packages)))


def _count_uses(path: Path, wanted: Sequence[str]) -> int:
    """How many functions of a file have the chain."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        plain = re.sub(r"[_\d]", "", text).lower()
        if not all(word in plain or word in _SIGNS.values() for word in wanted):
            return 0
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 0
    functions = (
        n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    return sum(_follow(_list_operations(function), wanted) for function in functions)


def _list_operations(function: ast.AST) -> list[str]:
    """What a function calls and computes, in the order of evaluation."""
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = _name_callee(node.func)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            name = _SIGNS.get(type(node.op), "")
        else:
            continue
        if name:
            found.append((node.end_lineno or 0, node.end_col_offset or 0, name))
    return [name for _, _, name in sorted(found)]


def _name_callee(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return _normalize_word(node.attr)
    return _normalize_word(node.id) if isinstance(node, ast.Name) else ""


def _normalize_word(name: str) -> str:
    """`torch.nn.functional.relu_`, `self.relu1` and `nn.ReLU` are all `relu`."""
    last = name.rpartition(".")[2]
    return "" if last.startswith("__") or last in READS else re.sub(r"[_\d]", "", last).lower()


def _follow(operations: Sequence[str], wanted: Sequence[str]) -> bool:
    rest: Iterator[str] = iter(operations)
    return all(word in rest for word in wanted)

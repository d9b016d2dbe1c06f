"""Whether a block is a program, and of what sort: the answer of Python's own parser, never of a
pattern over lines.

What people paste is first made into what they meant: prompts and magics go, invisible characters go
(and are told), an indented block is moved to the margin, and what follows the program (its output,
the rest of a form behind a fence nobody closed) is cut off.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import textwrap
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from reporter.triage.reading.blocks import Block

_PYTHON = frozenset(
    {
        "",
        "python",
        "py",
        "ipython",
        "pycon",
        "pytorch",
        "python-repl",
        "text",
        "txt",
    }
)
_LONGEST = 3000  # lines
_CUTS = 40
#: What nobody writes out, and everybody means.
_USUAL = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "math": "import math",
    "Tensor": "from torch import Tensor",
}
#: Names of a module, a class and a method that Python itself binds.
_IMPLICIT = (
    "__file__",
    "__builtins__",
    "__annotations__",
    "__module__",
    "__qualname__",
    "__class__",
)
_GENERATED = (
    "async_compile = AsyncCompile()",
    "# AOT ID:",
    "run_repro(",
    "from torch._dynamo.repro",
)
_COMPILERS = re.compile(
    r"\b(?:compile|dynamo|_dynamo|inductor|_inductor|export|aot\w*|make_fx|fx)\b"
)
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True)
class SyntaxFacts:
    """What the syntax tree of a program shows.

    `undefined` are names it reads and nobody makes, `modules` what it imports; `statements` counts
    all statements but imports; `acts` is whether running it does more than define things.
    """

    undefined: tuple[str, ...]
    modules: tuple[str, ...]
    statements: int
    acts: bool
    uses_torch: bool


@dataclass(frozen=True)
class IssueProgram:
    """Python that compiles.

    `source` is it without the imports that we `added`, `changes` are sentences of all that we
    changed.
    """

    text: str
    source: str
    facts: SyntaxFacts
    added: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def compiles(self) -> bool:
        """Whether it names a part of the compiler."""
        return _COMPILERS.search(self.source) is not None

    @property
    def generated(self) -> bool:
        """Whether torch has written it."""
        return any(mark in self.text for mark in _GENERATED)

    @property
    def self_contained(self) -> bool:
        """It runs as it stands, and torch has something to do in it."""
        return self.facts.acts and self.facts.uses_torch and not self.facts.undefined


def parse_program(block: Block) -> IssueProgram | None:
    """The program in a block, or None: an output, a traceback, another language, a fragment that
    does not parse.
    """
    # `python3.10` is one
    if block.language.rstrip(".0123456789") not in _PYTHON or block.text.count("\n") > _LONGEST:
        return None
    text, changes = _clean(block.text)
    found = _parse(text)
    if found is None:
        return None
    text, tree, cut = found
    if cut:
        changes.append(f"left out {cut} lines behind the program that are not Python")
    return _describe(text, tree, tuple(changes))


def join(parts: list[IssueProgram]) -> IssueProgram | None:
    """Several programs one behind the other: a model in one block, its call in the next."""
    text = "\n\n".join(part.source for part in parts)
    found = _parse(text)
    if found is None or found[2]:
        return None
    changes = [c for part in parts for c in part.changes if not c.startswith("added ")]
    return _describe(text, found[1], (*changes, f"joined {len(parts)} blocks"))


def _clean(text: str) -> tuple[str, list[str]]:
    changes = []
    if _HIDDEN.search(text):
        text = _HIDDEN.sub("", text)
        changes.append("took out invisible characters (direction marks or the like)")
    text = text.strip("\n") + "\n"
    if _is_program(text):  # white space, a prompt or a magic in it is part of a string
        return text, changes
    spaced = text.replace("\u00a0", " ").replace("\t", "    ").replace("\x0c", "")
    spaced = "".join(char for char in spaced if char == "\n" or ord(char) >= 32)
    if spaced != text:
        changes.append("made tabs and other white space blanks, and took out control characters")
    text = textwrap.dedent(spaced)
    if _is_program(text):
        return text, changes
    if re.search(r"^>>> ", text, re.MULTILINE):
        try:
            examples = doctest.DocTestParser().get_examples(text)
            text = "".join(example.source for example in examples)
        except ValueError:  # a prompt without the blank behind it, or an odd indentation
            kept = [
                line[4:] for line in text.split("\n") if re.match(r"(?:>>>|\.\.\.)(?: |$)", line)
            ]
            text = "\n".join(kept) + "\n"
        changes.append("took the prompts and outputs of an interactive session out")
    if re.search(r"^[ ]*[!%]\w", text, re.MULTILINE):
        text = re.sub(r"^[ ]*[!%]\w.*$", "", text, flags=re.MULTILINE)
        changes.append("took out lines for a notebook's shell")
    return text, changes


def _is_program(text: str) -> bool:
    """Whether it compiles: the parser alone takes imports from `__future__` anywhere."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<issue>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _parse(text: str) -> tuple[str, ast.Module, int] | None:
    """The text, or its longest beginning that parses and that something calls Python, and how many
    lines were cut.
    """
    lines = text.split("\n")
    end = len(lines)
    for _ in range(_CUTS):
        beginning = "\n".join(lines[:end]).rstrip() + "\n"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(beginning)
        except SyntaxError as error:
            # at the place of the mistake, or further up where the parser only noticed late
            place = min(error.lineno or end, end)
            end = place - 1 if place - 1 < end else end - 1
            if end <= 0:
                return None
            continue
        except (ValueError, RecursionError, MemoryError):
            return None
        cut = sum(bool(line.strip()) for line in lines[end:])
        if cut and not _is_python(tree):
            return None
        return (beginning, tree, cut) if tree.body else None
    return None


def _is_python(tree: ast.Module) -> bool:
    """Words and numbers of an output may parse; what is cut from must be a program by its own
    right.
    """
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body)


def _describe(text: str, tree: ast.Module, changes: tuple[str, ...]) -> IssueProgram | None:
    if not any(
        isinstance(node, (ast.Import, ast.ImportFrom, ast.Call, ast.FunctionDef, ast.ClassDef))
        for node in ast.walk(tree)
    ):
        return None
    undefined = _find_undefined(tree)
    added = tuple(_USUAL[name] for name in undefined if name in _USUAL)
    whole = _insert_imports(text, tree, added)
    if not _is_program(whole):
        return None
    modules = _list_modules(tree) | {line.split()[1].partition(".")[0] for line in added}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return IssueProgram(
        text=whole,
        source=text,
        facts=SyntaxFacts(
            undefined=tuple(name for name in undefined if name not in _USUAL),
            modules=tuple(sorted(modules)),
            statements=sum(
                isinstance(node, ast.stmt) and not isinstance(node, (ast.Import, ast.ImportFrom))
                for node in ast.walk(tree)
            ),
            acts=any(_acts(node) for node in tree.body),
            uses_torch="torch" in modules or "torch" in names,
        ),
        added=added,
        changes=changes + tuple(f"added `{line}`" for line in added),
    )


def _insert_imports(text: str, tree: ast.Module, added: tuple[str, ...]) -> str:
    """The text with imports behind its docstring and its imports from `__future__`, before which
    nothing may stand.
    """
    end = 0
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_text and not is_future:
            break
        end = node.end_lineno or 0
    lines = text.split("\n")
    return "\n".join([*lines[:end], *added, *lines[end:]])


def _acts(node: ast.stmt) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(isinstance(inner, (ast.Call, ast.Assert, ast.BinOp)) for inner in ast.walk(node))


def _list_modules(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def _find_undefined(tree: ast.Module) -> list[str]:
    """Names that are read somewhere and bound nowhere, in the order of their first use; none where
    a module's names are imported by `*`.
    """
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.alias) and node.name == "*" for node in nodes):
        return []
    bound = {*dir(builtins), *_IMPLICIT}
    for node in nodes:
        bound.update(_list_bound(node))
    read = dict.fromkeys(
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )
    return [name for name in read if name not in bound]


def _list_bound(node: ast.AST) -> Iterable[str]:
    """The names that a node itself binds."""
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return (node.id,)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
        case ast.arg():
            return (node.arg,)
        case ast.alias():
            return (node.asname or node.name.partition(".")[0],)
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
        ):
            return (name,)
        case ast.Global() | ast.Nonlocal():
            return node.names
    return ()

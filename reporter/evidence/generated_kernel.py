"""The one generated kernel that matters, out of inductor's output: the one the error quotes, else
the only candidate left.

A wrong choice misleads a maintainer more than none, so where several kernels could be meant none is
shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporter.evidence.interface import Excerpt

_LINES = 70
_AROUND = 14
_LANGUAGES = {
    "cpp": "cpp",
    "cpp_pybinding": "cpp",
    "triton": "python",
    "cuda": "cuda",
    "halide": "python",
}
#: How gcc and clang quote the line that they refuse: its number, a bar, the line.
_QUOTED = re.compile(r"^\s*\d+ \|\s*(?P<code>\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class GeneratedKernel:
    """A kernel of a compiled graph: `name` as in the wrapper, `graph` the folder it was found
    in.
    """

    name: str
    language: str
    text: str
    graph: str


def read_kernels(folder: Path, graphs: Iterable[str]) -> tuple[GeneratedKernel, ...]:
    """All kernels in the `output_code.py` of the given graph folders, each text once, in the order
    they were compiled.
    """
    found: dict[str, GeneratedKernel] = {}
    for graph in graphs:
        try:
            tree = ast.parse((folder / graph / "output_code.py").read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        for statement in tree.body:
            kernel = _read_kernel(statement, graph)
            if kernel is not None:
                found.setdefault(kernel.text, kernel)
    return tuple(found.values())


def _read_kernel(statement: ast.stmt, graph: str) -> GeneratedKernel | None:
    """`name = async_compile.cpp(…, '''text''')` as a kernel."""
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
        return None
    call, target = statement.value, statement.targets[0]
    made_by = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    texts = [item.value for item in call.args if isinstance(item, ast.Constant)]
    text = next((item for item in reversed(texts) if isinstance(item, str) and "\n" in item), None)
    if made_by not in _LANGUAGES or text is None or not isinstance(target, ast.Name):
        return None
    return GeneratedKernel(target.id, _LANGUAGES[made_by], text.strip("\n"), graph)


def choose_kernel_excerpt(
    found: Sequence[GeneratedKernel], error: str, suspects: Iterable[str], gradient: bool
) -> Excerpt | str:
    """The kernel to show, cut to what matters, or the reason why none is.

    Args:
        error: what the compiler printed; a C++ compiler quotes the lines it refuses.
        suspects: names of operations (`frexp`) that the search for the culprit blames.
        gradient: only what the backward graph runs can be wrong.
    """
    if not found:
        return "inductor generated no kernel"
    quoted = [" ".join(code.split()) for code in _QUOTED.findall(error)]
    for kernel in found:
        line = _find_line(kernel, quoted)
        if line is not None:
            return _build_excerpt(kernel, line)
    if quoted:
        return "the lines that the C++ compiler refuses are in none of the kernels"
    candidates = [k for k in found if not gradient or "backward" in k.graph] or list(found)
    for word in suspects:
        blamed = [kernel for kernel in candidates if _runs(kernel, word)]
        if len(blamed) == 1:
            return _build_excerpt(blamed[0])
    if len(candidates) == 1:
        return _build_excerpt(candidates[0])
    return f"there are {len(candidates)} kernels, and nothing says which of them is wrong"


def _runs(kernel: GeneratedKernel, word: str) -> bool:
    """Whether an operation is part of a kernel, by the name inductor gave it."""
    return re.search(rf"_{re.escape(word)}_", kernel.name) is not None


def _find_line(kernel: GeneratedKernel, quoted: Sequence[str]) -> int | None:
    lines = [" ".join(line.split()) for line in kernel.text.splitlines()]
    for code in quoted:
        if len(code) > 8 and code in lines:
            return lines.index(code)
    return None


def _build_excerpt(kernel: GeneratedKernel, line: int | None = None) -> Excerpt:
    """A kernel without its includes; of a long one the beginning, or what surrounds the line at
    fault.
    """
    lines = kernel.text.splitlines()
    start = next((i for i, text in enumerate(lines) if not text.startswith("#include")), 0)
    wanted = line - start if line is not None else None
    lines = lines[start:]
    if len(lines) > _LINES:
        lines = _cut_around(lines, wanted)
    return Excerpt(
        f"The kernel that inductor generates for the repro, `{kernel.name}`"
        + (", around the line that is refused" if line is not None else ""),
        kernel.language,
        "\n".join(lines),
    )


def _cut_around(lines: list[str], wanted: int | None) -> list[str]:
    if wanted is None:
        return [*lines[:_LINES], f"// … {len(lines) - _LINES} more lines"]
    head = lines[: min(6, wanted)]
    first, last = max(len(head), wanted - _AROUND), min(len(lines), wanted + _AROUND)
    return [*head, "// …", *lines[first:last], "// …"]

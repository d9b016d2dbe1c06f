"""The repro as a regression test: `test_repro.py`.

A plain repro is the body of a test method as it stands, with its settings as patches; if it does
not fail there in the same way, its definitions stay at the top of the module. A repro in the
harness is called by its `main`. Which text still shows the failure is for the caller to measure:
`render_tests` gives the possible ones, the nearest to torch's suites first.

torch's suites use `torch._inductor.test_case.TestCase` or `torch._dynamo.test_case.TestCase`, which
reset the compiler around each test. Their import needs `expecttest`, which no torch wheel brings
along (2.0.1 to 2.15.0), so outside torch's own tree the test falls back on `unittest` and resets by
itself. The file is the same in both places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anonymizer.kinds import Layer
from templates import render
from templates.text import fit_on_line

#: The class and the method of every test.
_CLASS = "TestRepro"
_INDUCTOR = (Layer.INDUCTOR, Layer.DECOMPOSITION, Layer.TRITON)
_GUARD = re.compile(r"""__name__ == ["']__main__["']""")
#: An assignment to a setting of torch, as a repro makes it.
_SETTING = re.compile(r"(torch\.[\w.]+?\.config)\.([\w.]+)")


@dataclass(frozen=True)
class ReproducedFailure:
    """What the test says of the failure: the verdict's kind and layer, its sentence, and the
    operators of the repro, by which the test is named.
    """

    kind: str
    layer: str
    summary: str
    operators: Sequence[str]


def name_method(failure: ReproducedFailure) -> str:
    """The name of the test's method: `test_wrong_result_frexp`."""
    kind = re.sub(r"\W", "_", failure.kind)
    named = [name.rsplit(".", 1)[-1].strip("_") for name in failure.operators[:2]]
    words = [word.lower() for name in named for word in re.findall(r"[A-Za-z0-9]+", name)]
    return "_".join(["test", kind, *words])


def render_test(failure: ReproducedFailure, repro: str) -> str:
    """The text of `test_repro.py` that is nearest to the target's suites; unformatted.

    Args:
        failure: what the repro has shown.
        repro: the text of `repro.py`.

    Raises:
        ValueError: the repro has nothing to call.
    """
    return next(render_tests(failure, repro))


def render_tests(failure: ReproducedFailure, repro: str) -> Iterator[str]:
    """The possible texts of `test_repro.py`, unformatted, the nearest to the target's suites first.

    Args:
        repro: the text of `repro.py`: in a plain form, or with `main()` and a main guard.

    Raises:
        ValueError: the repro has nothing to call.
    """
    suite = "inductor" if failure.layer in _INDUCTOR else "dynamo"
    summary = fit_on_line(failure.summary, 100).replace("\\", "/").replace('"', "'")
    values = {
        "method": name_method(failure),
        "summary": summary.rstrip("."),
        "class_name": _CLASS,
        "suite": suite,
    }
    if any(
        isinstance(node, ast.FunctionDef) and node.name == "main" for node in _parse_body(repro)
    ):
        program = _drop_statements(repro, [_GUARD])
        yield add_imports(
            render("test_repro.py.j2", program=program, body="", patches=(), **values)
        )
        return
    patches, definitions, statements = _split(repro)
    if not statements:
        raise ValueError("the repro has nothing to call")
    imports = "\n".join(ast.unparse(node) for node in _parse_body(repro) if _is_import(node))
    # torch's suites define the function inside the test; a global stays one where that matters
    layouts: list[tuple[list[str], list[str]]] = [([], [*definitions, *statements])]
    if definitions:
        layouts.append((definitions, statements))
    for above, inside in layouts:
        program, body = "\n\n\n".join([imports, *above]), "\n".join(inside)
        yield add_imports(
            render("test_repro.py.j2", program=program, body=body, patches=patches, **values)
        )


def _parse_body(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _split(repro: str) -> tuple[list[str], list[str], list[str]]:
    """The settings of a plain repro as patches, its definitions, and its statements."""
    patches: list[str] = []
    definitions: list[str] = []
    statements: list[str] = []
    for node in _parse_body(repro):
        if _is_import(node):
            continue
        setting = isinstance(node, ast.Assign) and _SETTING.fullmatch(ast.unparse(node.targets[0]))
        if setting and isinstance(node, ast.Assign):
            owner, name = setting.groups()
            patches.append(f'@{owner}.patch({{"{name}": {ast.unparse(node.value)}}})')
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            definitions.append(ast.unparse(node))
        else:
            statements.append(ast.unparse(node))
    return patches, definitions, statements


def add_imports(text: str) -> str:
    """The text with the imports at its top that it uses, those of the standard library first, and
    no others.
    """
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    wanted: set[str] = set()
    lines = text.splitlines()
    for node in tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for number in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[number] = ""
        if {(name.asname or name.name).split(".")[0] for name in node.names} & used:
            wanted.add(ast.unparse(node))
    own = sorted((line for line in wanted if "torch" in line), key=lambda one: (one[0] == "f", one))
    others = sorted(wanted - set(own))
    rest = "\n".join(lines).strip()
    groups = ["\n".join(group) for group in (others, own) if group]
    return "\n\n\n".join(["\n\n".join(groups), rest]).lstrip() + "\n"


def write_failing_program(test: str, failure: ReproducedFailure) -> str:
    """The same test as a program that lets its failure out, so that it can be held against the
    repro's.
    """
    call = f'{_CLASS}("{name_method(failure)}").debug()'
    return re.sub(r"\brun_tests\(\)\s*\Z", call + "\n", test)


def _drop_statements(source: str, patterns: Sequence[re.Pattern[str]]) -> str:
    """`source` without the statements at its top whose first line matches."""
    lines = source.splitlines()
    for node in _parse_body(source):
        if any(pattern.search(lines[node.lineno - 1]) for pattern in patterns):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines).strip()

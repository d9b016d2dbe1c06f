"""The repro as a regression test in the style of torch's own suites, so that a fix can take it
along as it is.

A program that inductor gets wrong with default settings becomes what
`test/inductor/test_torchinductor.py` is made of: a function, its inputs, `self.common(...)`.
Anything else keeps the repro's own `run` and states what is compared; what Dynamo alone gets wrong
is compiled by `torch._dynamo.testing.CompileCounter`. Which of them still shows the failure is for
the caller to measure: `render_tests` gives the possible texts, the nearest to the suites first.

torch's suites use `torch._inductor.test_case.TestCase` or `torch._dynamo.test_case.TestCase`, which
reset the compiler around each test. Their import needs `expecttest`, which no torch wheel brings
along (2.0.1 to 2.15.0), so outside torch's own tree the test falls back on `unittest` and resets by
itself. The file is the same in both places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from templates import render
from templates.text import one_line

#: The class and the method of every test.
CLASS = "TestRepro"
_INDUCTOR = ("inductor", "decomposition", "triton")
_COMMON_KINDS = ("crash", "wrong_result", "wrong_gradient", "process_death", "hang")
_HELPERS = {
    "copy": "import copy",
    "same": "from torch._dynamo.utils import same",
    "CompileCounter": "from torch._dynamo.testing import CompileCounter",
}
_GUARD = re.compile(r"""__name__ == ["']__main__["']""")


@dataclass(frozen=True)
class _Parts:
    """What a repro consists of: its definitions, `run` and `main`, and what `run` and `main` say
    about the call.
    """

    definitions: str
    run_text: str
    main: ast.FunctionDef
    model: str | None = None
    contexts: tuple[str, ...] = ()
    compile_arguments: bool = False
    several_calls: bool = False
    backward: str = ""
    compares_inputs: bool = False


def method(report: Mapping[str, Any]) -> str:
    """The name of the test's method: `test_wrong_result_frexp`."""
    kind = re.sub(r"\W", "_", report["verdict"]["kind"])
    named = [name.rsplit(".", 1)[-1].strip("_") for name in report["repro"]["operators"][:2]]
    words = [word.lower() for name in named for word in re.findall(r"[A-Za-z0-9]+", name)]
    return "_".join(["test", kind, *words])


def render_test(report: Mapping[str, Any], repro: str) -> str:
    """The text of `test_repro.py` that is nearest to the target's suites; unformatted.

    Raises ValueError.
    """
    return next(render_tests(report, repro))


def render_tests(report: Mapping[str, Any], repro: str) -> Iterator[str]:
    """The possible texts of `test_repro.py`, unformatted, the nearest to the target's suites first.

    Args:
        repro: the text of `repro.py`, which must define `main()` and end in a main guard.

    Raises:
        ValueError: the repro has no `main` to call.
    """
    parts = _parts(repro)
    suite = "inductor" if report["verdict"]["layer"] in _INDUCTOR else "dynamo"
    summary = one_line(report["verdict"]["summary"], 100).replace("\\", "/").replace('"', "'")
    values = {
        "method": method(report),
        "summary": summary.rstrip("."),
        "class_name": CLASS,
        "suite": suite,
        "kind": report["verdict"]["kind"],
    }
    if _fits_common(report, parts):
        yield with_imports(
            render("test_common.py.j2", parts=parts, program=parts.definitions, **values)
        )
    inlined = _inlined(report, parts)
    if inlined is not None:
        program = f"{parts.definitions}\n\n\n{parts.run_text}"
        body, counts = inlined
        yield with_imports(
            render("test_run.py.j2", program=program, body=body, counts=counts, **values)
        )
    yield with_imports(render("test_repro.py.j2", program=_without(repro, [_GUARD]), **values))


def with_imports(text: str) -> str:
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
    wanted |= {line for name, line in _HELPERS.items() if name in used}
    own = sorted((line for line in wanted if "torch" in line), key=lambda one: (one[0] == "f", one))
    others = sorted(wanted - set(own))
    rest = "\n".join(lines).strip()
    groups = ["\n".join(group) for group in (others, own) if group]
    return "\n\n\n".join(["\n\n".join(groups), rest]).lstrip() + "\n"


def failing_text(test: str, report: Mapping[str, Any]) -> str:
    """The same test as a program that lets its failure out, so that it can be held against the
    repro's.
    """
    call = f'{CLASS}("{method(report)}").debug()'
    return re.sub(r"\brun_tests\(\)\s*\Z", call + "\n", test)


def _parts(repro: str) -> _Parts:
    tree = ast.parse(repro)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "main" not in functions:
        raise ValueError("the repro has no function main() to test")
    run, main = functions.get("run"), functions["main"]
    definitions = _without(repro, [_GUARD, re.compile(r"def (main|run)\(")])
    if run is None:
        return _Parts(definitions, "", main)
    return _Parts(
        definitions,
        ast.get_source_segment(repro, run) or "",
        main,
        model=_model(run),
        contexts=tuple(_contexts(run)),
        compile_arguments=_compile_arguments(main),
        several_calls=any(argument.arg == "calls" for argument in run.args.args),
        backward=_backward(run),
        compares_inputs=any(
            isinstance(node, ast.Return) and "*args" in ast.unparse(node) for node in ast.walk(run)
        )
        and "backward" not in ast.unparse(run),
    )


def _without(source: str, patterns: Sequence[re.Pattern[str]]) -> str:
    """`source` without the statements at its top whose first line matches."""
    tree = ast.parse(source)
    lines = source.splitlines()
    for node in tree.body:
        if any(pattern.search(lines[node.lineno - 1]) for pattern in patterns):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines).strip()


def _model(run: ast.FunctionDef) -> str | None:
    for node in run.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "model":
            return ast.unparse(node.value)
    return None


def _contexts(run: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(run):
        if isinstance(node, ast.With):
            yield from (ast.unparse(item) for item in node.items)


def _compile_arguments(main: ast.FunctionDef) -> bool:
    """Whether torch.compile is given anything but the model."""
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "torch.compile"
        and (node.keywords or len(node.args) > 1)
        for node in ast.walk(main)
    )


def _backward(run: ast.FunctionDef) -> str:
    text = ast.unparse(run)
    if ".backward(" not in text:
        return ""
    return "randn" if "torch.autograd.backward" in text else "sum"


def _fits_common(report: Mapping[str, Any], parts: _Parts) -> bool:
    """Whether `common` says the same: one call, compiled as torch.compile does by default, values
    or gradients compared.
    """
    return (
        report["verdict"]["layer"] in _INDUCTOR
        and report["verdict"]["kind"] in _COMMON_KINDS
        and parts.model is not None
        and not parts.compile_arguments
        and not parts.several_calls
        and not parts.compares_inputs
        and (parts.backward == "" or report["verdict"]["kind"] == "wrong_gradient")
    )


class _InTest(ast.NodeTransformer):
    """`main` as the body of a test method: exit 125 becomes a skip, assertions those of
    unittest.
    """

    def __init__(self, count_frames: bool) -> None:
        self.count_frames = count_frames
        self.counted = False
        self.odd = False
        self.error: str | None = None

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        before, self.error = self.error, node.name
        self.generic_visit(node)
        self.error = before
        node.body = node.body or [ast.Pass()]  # it may have held nothing but a print
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST] | None:
        text = ast.unparse(node)
        if text == "sys.exit(125)":
            why = f'f"eager fails here: {{{self.error}}}"' if self.error else "'eager passes here'"
            return ast.parse(f"self.skipTest({why})").body[0]
        if text.startswith("sys.exit("):
            self.odd = True
        if text.startswith("print("):
            return None
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        condition, message = ast.unparse(node.test), ast.unparse(node.msg) if node.msg else None
        arguments = condition if message is None else f"{condition}, {message}"
        return ast.parse(f"self.assertTrue({arguments})").body[0]

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        text = ast.unparse(node)
        found = re.fullmatch(r"raise AssertionError\((.*)\)", text, re.DOTALL)
        return ast.parse(f"self.fail({found.group(1)})").body[0] if found else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self.count_frames and ast.unparse(node.func) == "torch.compile":
            kept = [keyword for keyword in node.keywords if keyword.arg not in ("backend", "mode")]
            node.keywords = [ast.keyword("backend", ast.Name("counter")), *kept]
            self.counted = True
        return node


def _inlined(report: Mapping[str, Any], parts: _Parts) -> tuple[str, bool] | None:
    """The lines of the test's body, and whether they count frames; None where `main` is not as we
    know it.
    """
    if not parts.run_text:
        return None
    change = _InTest(report["verdict"]["layer"] == "dynamo")
    body = [change.visit(ast.parse(ast.unparse(node)).body[0]) for node in parts.main.body]
    lines = [ast.unparse(ast.fix_missing_locations(node)) for node in body if node is not None]
    return None if change.odd else ("\n".join(lines), change.counted)

"""Rules about the program: what the receiving side's robots run unread, and what they close a
wrong-result report for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from anonymizer.graph.randomness import draws_random_numbers
from collectors.protocol.repro_words import Property
from reporter.core.formatting import count_lines
from reporter.core.kinds import SILENT, WRONG_VALUES, Layer
from reporter.lint.rule import Hit, Rule
from reporter.lint.subject import LintSubject

#: Lines that are not blank, and operations, that the receiving side minimizes to.
LINES, STATEMENTS = 100, 20

_COMPARING = ("same", "allclose", "assert_close", "isclose")
#: Backends that draw random numbers as eager mode does.
_NOT_LOWERED = re.compile(r"""\bbackend=["'](?:eager|aot_eager\w*)["']""")
_EDGES = re.compile(r"\b(nan|inf|finfo)\b|[\"'](?:nan|-?inf)[\"']")
_INDEX_MAKERS = ("argmax", "argmin", "argsort", "sort", "topk", "max", "min", "kthvalue", "mode")


def _check_python(subject: LintSubject) -> Iterator[Hit]:
    if subject.repro is not None and subject.tree is None:
        yield subject.name, None, "it is not Python"


def _check_lines(subject: LintSubject) -> Iterator[Hit]:
    count = count_lines(subject.repro or "")
    if count >= LINES:
        yield subject.name, None, f"it has {count} lines"


def _check_statements(subject: LintSubject) -> Iterator[Hit]:
    info = subject.report.repro if subject.report is not None else None
    if info is not None:
        count = info.statements
    else:
        count = sum(
            1
            for function in subject.find_functions()
            for node in ast.walk(function)
            if _operates(node)
        )
    if count > STATEMENTS:
        yield subject.name, None, f"the program has {count} operations"


def _operates(node: ast.AST) -> bool:
    return isinstance(node, (ast.Call, ast.BinOp))


#: What holds derivatives against finite differences, and raises.
_DERIVATIVES = frozenset(("gradcheck", "gradgradcheck"))


def _check_asserts(subject: LintSubject) -> Iterator[Hit]:
    if subject.tree is None:
        return
    calls = {_read_last_name(node.func) for node in subject.walk() if isinstance(node, ast.Call)}
    compares = bool(calls & set(_COMPARING))
    if subject.kind in SILENT or (subject.kind is None and compares):
        told = bool(calls & {"assert_close", "assertRaises", *_DERIVATIVES}) or any(
            isinstance(node, ast.Assert)
            or isinstance(node, ast.Raise)
            and node.exc is not None
            and "AssertionError" in ast.unparse(node.exc)
            for node in subject.walk()
        )
        if not told:
            yield subject.name, None, "it asserts nothing"


def _check_main_guard(subject: LintSubject) -> Iterator[Hit]:
    if _has_main(subject) and subject.kind and "__main__" not in (subject.repro or ""):
        yield subject.name, None, "there is no main guard"


def _has_main(subject: LintSubject) -> bool:
    """Whether the program is in the harness; a plain one runs from top to bottom."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in subject.walk())


def _check_tolerances(subject: LintSubject) -> Iterator[Hit]:
    for node in subject.walk():
        if isinstance(node, ast.Call) and _read_last_name(node.func) in _COMPARING:
            for keyword in node.keywords:
                if keyword.arg in ("rtol", "atol", "tol"):
                    yield subject.name, node.lineno, f"it compares with its own {keyword.arg}"


def _check_referee(subject: LintSubject) -> Iterator[Hit]:
    if subject.kind not in WRONG_VALUES or subject.tree is None:
        return
    if _has_whole_numbers(subject) or _shares_memory(subject) or _gives_python_values(subject):
        return
    calls = {_read_last_name(node.func) for node in subject.walk() if isinstance(node, ast.Call)}
    if calls & _DERIVATIVES or _compares_derivatives(subject):
        return  # finite differences say it, or that derivatives have to be equal
    judged = any(
        isinstance(node, ast.keyword) and node.arg == "fp64_ref" for node in subject.walk()
    )
    if subject.report is not None and subject.report.verdict.layer == Layer.EAGER:
        judged |= bool(calls & {"double", "cdouble"})
    # a plain repro compares with eager alone; the report then has what float64 said
    if not _has_main(subject) and subject.report is not None:
        judged |= any(row.error_vs_fp64 is not None for row in subject.report.ladder)
    if not judged:
        yield subject.name, None, "no float64 run says which of the two is right"


def _compares_derivatives(subject: LintSubject) -> bool:
    """Whether derivatives of equal elements, or in two modes, are held against each other."""
    compared = ("elementwise", "forward_twice", "in_inference")
    return subject.report is not None and subject.report.verdict.derivative in compared


def _gives_python_values(subject: LintSubject) -> bool:
    """Whether what differs is a value of Python, which is exact."""
    signature = subject.report.verdict.signature if subject.report is not None else ""
    return signature.endswith(Property.PYTHON_VALUE)


def _has_whole_numbers(subject: LintSubject) -> bool:
    """Whether the program starts from whole numbers alone, of which float64 knows nothing better;
    layers have weights.
    """
    creations = [
        node
        for statement in subject.find_inputs()
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and _makes(node)
    ]
    return (
        bool(creations) and all(map(_makes_whole, creations)) and "nn." not in (subject.repro or "")
    )


def _shares_memory(subject: LintSubject) -> bool:
    """Whether an input is a part or a view of another one: copies of them in float64 would be two,
    and another program.
    """
    made: set[str] = set()
    for node in subject.find_inputs():
        if not isinstance(node, ast.Assign):
            continue
        base = node.value
        while isinstance(base, (ast.Subscript, ast.Attribute, ast.Call)):
            base = base.func if isinstance(base, ast.Call) else base.value
        if isinstance(base, ast.Name) and base.id in made:
            return True
        made |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return False


def _makes(call: ast.Call) -> bool:
    """Whether a call makes a tensor."""
    name = ast.unparse(call.func)
    others = ("torch.manual_seed", "torch.testing", "torch.compile", "torch.autograd", "torch._")
    return name.startswith("torch.") and not name.startswith(others)


def _makes_whole(call: ast.Call) -> bool:
    dtype = next((ast.unparse(k.value) for k in call.keywords if k.arg == "dtype"), None)
    if dtype is None:
        return ast.unparse(call.func) in ("torch.randint", "torch.randperm")
    return dtype.removeprefix("torch.").startswith(("int", "uint", "bool"))


def _check_seeds(subject: LintSubject) -> Iterator[Hit]:
    text = subject.repro or ""
    if subject.tree is not None and draws_random_numbers(text) and "manual_seed(" not in text:
        yield subject.name, None, "it draws random numbers and sets no seed"


def _check_fallback(subject: LintSubject) -> Iterator[Hit]:
    text = subject.repro or ""
    if subject.kind not in WRONG_VALUES or "fallback_random" in text or _NOT_LOWERED.search(text):
        return
    for function in subject.find_functions():
        if draws_random_numbers(ast.unparse(function)):
            yield subject.name, function.lineno, "the program draws random numbers of its own"


def _check_edges(subject: LintSubject) -> Iterator[Hit]:
    if subject.kind not in WRONG_VALUES or _needs_special_values(subject):
        return
    for statement in subject.find_inputs():
        if found := _EDGES.search(re.sub(r"equal_nan=True", "", ast.unparse(statement))):
            yield subject.name, statement.lineno, f"an input is an edge case ({found.group()})"


def _needs_special_values(subject: LintSubject) -> bool:
    """Whether the repro was seen to be right with ordinary numbers in the place of NaN or inf."""
    repro = subject.report.repro if subject.report is not None else None
    rows = repro.neighbours if repro is not None else ()
    return any(row.change.startswith("values ") and not row.fails for row in rows)


def _check_indices(subject: LintSubject) -> Iterator[Hit]:
    if subject.kind not in WRONG_VALUES:
        return
    for function in subject.find_functions():
        bound = {
            ast.unparse(node.targets[0]): node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                value = bound.get(ast.unparse(node.value), node.value)
                if isinstance(value, ast.Call) and _gives_indices(value):
                    yield subject.name, node.lineno, "indices are part of what is compared"


def _gives_indices(call: ast.Call) -> bool:
    name = _read_last_name(call.func)
    if name in (
        "max",
        "min",
    ):  # only along a dimension; of two tensors it is the larger of each pair
        named = any(keyword.arg == "dim" for keyword in call.keywords)
        return named or any(_is_number(argument) for argument in call.args)
    return name in _INDEX_MAKERS


def _is_number(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _read_last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


RULES = (
    Rule("python", "The repro is Python.", "mend it", _check_python),
    Rule(
        "lines",
        f"A repro has under {LINES} lines.",
        "reduce it (create, not anonymize)",
        _check_lines,
    ),
    Rule(
        "statements",
        f"Minimizing stops at about {STATEMENTS} statements.",
        "reduce it (create, not anonymize)",
        _check_statements,
        "advice",
    ),
    Rule(
        "assert",
        "A repro of a wrong result asserts.",
        "end it in an assert that prints the numbers",
        _check_asserts,
    ),
    Rule(
        "main-guard",
        "A repro runs when it is started.",
        "call main() under a main guard",
        _check_main_guard,
    ),
    Rule(
        "tolerances",
        "Wrong results are judged by the default tolerances.",
        "leave the tolerance out",
        _check_tolerances,
    ),
    Rule(
        "fp64-referee",
        "Compiled must be farther from float64 than eager is.",
        "compare with same(…, fp64_ref=…)",
        _check_referee,
    ),
    Rule("seeds", "What is random is seeded.", "call torch.manual_seed(0) first", _check_seeds),
    Rule(
        "fallback-random",
        "Both runs draw the same random numbers.",
        "set torch._inductor.config.fallback_random = True",
        _check_fallback,
    ),
    Rule(
        "edge-inputs",
        "Inputs of a wrong-result report are ordinary numbers.",
        "use inputs away from NaN, Inf and the largest numbers",
        _check_edges,
    ),
    Rule(
        "indices",
        "Indices of max, min, sort and topk are not compared, since they may tie.",
        "return the values alone, or inputs without ties",
        _check_indices,
        "advice",
    ),
)
